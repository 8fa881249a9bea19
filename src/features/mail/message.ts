/** The content of a mail; all mails share one layout, as text and as HTML. */
export interface MailMessage {
  to: string
  /**
   * Purpose: `code`, `magic_link`, `reset` … A new code or link erases the content of older ones of this kind and
   * address.
   */
  kind: string
  subject: string
  /** Paragraphs before the code or button. */
  lines: string[]
  /** Lists with headings, before the button. */
  sections?: MailSection[]
  /** Six digits to type. */
  code?: string
  button?: { label: string; url: string }
  /** Paragraphs after it, in small print. */
  notes?: string[]
  /** After this the content is erased and the mail is not sent any more. */
  expiresAt: string
}

interface MailSection {
  title: string
  items: { text: string; detail?: string; url: string }[]
}

export interface RenderedMail {
  text: string
  html: string
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)

/** Keeps user input, such as names, on one line, so that it cannot imitate the text of the mail. */
export const oneLine = (text: string, most = 100): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, most)

const paragraphs = (lines: string[] = []): string[] => lines.map((line) => oneLine(line, 2000))

const styles = {
  body:
    'margin:0;padding:24px;background:#f4f3f7;color:#1c1b22;' +
    "font:16px/1.6 system-ui,-apple-system,'Segoe UI',sans-serif",
  card: 'max-width:480px;margin:0 auto;padding:32px;background:#fff;border:1px solid #dcd9e3;border-radius:12px',
  code: 'margin:24px 0;font:700 32px/1.2 ui-monospace,Menlo,monospace;letter-spacing:6px',
  button:
    'display:inline-block;padding:12px 20px;border-radius:8px;background:#5b3df5;color:#fff;' +
    'font-weight:600;text-decoration:none',
}

const sectionText = ({ title, items }: MailSection): string[] => [
  `${oneLine(title)}:`,
  ...items.map(({ text, detail, url }) =>
    [`- ${oneLine(text, 200)}`, ...(detail ? [`  ${oneLine(detail, 200)}`] : []), `  ${url}`].join('\n'),
  ),
]

const sectionHtml = ({ title, items }: MailSection): string => {
  const item = ({ text, detail, url }: MailSection['items'][number]) =>
    `<li style="margin:0 0 10px"><a href="${escapeHtml(url)}" style="color:#5b3df5">${escapeHtml(oneLine(text, 200))}</a>${
      detail ? `<br><span style="color:#5d5b68;font-size:14px">${escapeHtml(oneLine(detail, 200))}</span>` : ''
    }</li>`
  return `<h2 style="margin:20px 0 8px;font-size:16px">${escapeHtml(oneLine(title))}</h2>
<ul style="margin:0 0 16px;padding-left:20px">${items.map(item).join('\n')}</ul>`
}

export function renderMail(message: Omit<MailMessage, 'to'>, instance: string): RenderedMail {
  const { code, button } = message
  const lines = paragraphs(message.lines)
  const notes = paragraphs(message.notes)
  const foot = `Sent by Tutti at ${instance}`
  const text = [
    ...lines,
    ...(message.sections ?? []).flatMap(sectionText),
    ...(code ? [`    ${code}`] : []),
    ...(button ? [`${button.label}:\n${button.url}`] : []),
    ...notes,
    `-- \n${foot}`,
  ].join('\n\n')
  const paragraph = (style: string) => (line: string) => `<p style="${style}">${escapeHtml(line)}</p>`
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>${escapeHtml(message.subject)}</title></head>
<body style="${styles.body}">
<div style="${styles.card}">
<p style="margin:0 0 20px;font-weight:700;font-size:18px;color:#5b3df5">Tutti</p>
${lines.map(paragraph('margin:0 0 16px')).join('\n')}
${(message.sections ?? []).map(sectionHtml).join('\n')}
${code ? paragraph(styles.code)(code) : ''}
${
  button
    ? `<p style="margin:24px 0"><a href="${escapeHtml(button.url)}" style="${styles.button}">${escapeHtml(button.label)}</a></p>
${paragraph('margin:0 0 16px;color:#5d5b68;font-size:13px;overflow-wrap:anywhere')(button.url)}`
    : ''
}
${notes.map(paragraph('margin:0 0 12px;color:#5d5b68;font-size:14px')).join('\n')}
</div>${paragraph('max-width:480px;margin:16px auto 0;color:#5d5b68;font-size:12px')(foot)}</body></html>`
  return { text, html }
}
