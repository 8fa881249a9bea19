interface Props {
  label: string
  text: string
  onText(text: string): void
  onSend(): void
}

/** A line for an answer that grows with it; ⌘↵ sends. */
export const Field = ({ label, text, onText, onSend }: Props) => (
  <textarea
    className="input grow say"
    rows={text.includes('\n') || text.length > 80 ? 3 : 1}
    aria-label={label}
    placeholder={label}
    maxLength={10_000}
    value={text}
    onChange={(event) => onText(event.currentTarget.value)}
    onKeyDown={(event) => {
      if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) onSend()
    }}
  />
)
