// The part of KaTeX that js/math.js uses. The script knows no modules: it leaves its name at the window.

export interface Node {
  attributes?: Record<string, string>;
  children?: Node[];
}

export interface Katex {
  __renderToDomTree(tex: string, options: object): Node & { toNode(): HTMLElement };
}

declare global {
  interface Window {
    katex: Katex;
    htmx?: {
      process(element: Element): void;
      swap(target: Element, content: string, specification: object, options: object): void;
    };
  }
}
