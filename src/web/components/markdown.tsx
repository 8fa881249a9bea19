/** Stored text as Markdown. Raw HTML is shown as text, remote pictures become links, and what is left is purified. */
import DOMPurify from 'dompurify'
import { Marked } from 'marked'
import { useMemo } from 'react'

const escaped = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
})
const purifier = DOMPurify(window)
purifier.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName !== 'A') return
  node.setAttribute('rel', 'noopener noreferrer nofollow')
  node.setAttribute('target', '_blank')
})

export function Markdown({ text }: { text: string }) {
  const html = useMemo(
    () =>
      purifier.sanitize(marked.parse(text, { async: false }), {
        RETURN_TRUSTED_TYPE: true,
        FORBID_TAGS: ['style', 'form', 'input', 'button', 'img', 'video', 'audio', 'svg', 'math'],
        FORBID_ATTR: ['style', 'class', 'id'],
      }),
    [text],
  )
  // biome-ignore lint/security/noDangerouslySetInnerHtml: purified above, and the browser accepts only purified markup
  return <div className="md" dangerouslySetInnerHTML={{ __html: html as unknown as string }} />
}
