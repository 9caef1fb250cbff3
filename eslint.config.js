// The rules that catch mistakes; how the code looks is not their business.

import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/vendor/**", ".venv/**", "data/**", "node_modules/**"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      curly: ["error", "multi-line"],
      "default-case-last": "error",
      eqeqeq: "error",
      "no-constructor-return": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-param-reassign": "error",
      "no-self-compare": "error",
      "no-shadow": ["error", { allow: ["name"] }],
      "no-template-curly-in-string": "error",
      "no-throw-literal": "error",
      "no-unmodified-loop-condition": "error",
      "no-unused-vars": ["error", { varsIgnorePattern: "^_$", argsIgnorePattern: "^_$" }],
      "no-unused-expressions": ["error", { allowShortCircuit: true, allowTernary: true }],
      "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
    },
  },
  { files: ["static/js/**", "tests/looks.js"], languageOptions: { globals: globals.browser } },
  // A function that is evaluated in a page.
  { files: ["tests/looks.js"], rules: { "no-unused-expressions": "off" } },
  { files: ["tests/js/**", "*.config.js"], languageOptions: { globals: globals.node } },
];
