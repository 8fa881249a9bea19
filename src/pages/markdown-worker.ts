import { renderMarkdown } from './render-markdown.ts'

declare const self: {
  onmessage: (event: MessageEvent<{ markdown: string; byUsers: boolean }>) => void
  postMessage(html: string): void
}

self.onmessage = ({ data: { markdown, byUsers } }) => self.postMessage(renderMarkdown(markdown, byUsers))
