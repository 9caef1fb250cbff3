// What static/js uses of Mermaid.

export interface Mermaid {
  initialize(options: Record<string, unknown>): void;
  render(id: string, code: string): Promise<{ svg: string }>;
}

declare global {
  interface Window {
    mermaid: Mermaid;
  }
}
