// The frame of the pages other than a conversation: the sidebar with its list of conversations.

import "./entries.js";
import "./palette.js";
import { watchFolding } from "./folding.js";
import { watchSidebar } from "./sidebar.js";

watchFolding();
// No conversation is open on this page.
watchSidebar("");
// The field of a space begins one conversation: of a page that is restored it has begun it already.
addEventListener("pageshow", ({ persisted }) => persisted && document.querySelector(".ask") && location.reload());
