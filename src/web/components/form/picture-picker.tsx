/** A button that asks for a picture of this computer. */
import { useRef } from 'react'

interface Props {
  label: string
  busy: boolean
  onFile(file: File): void
}

export function PicturePicker({ label, busy, onFile }: Props) {
  const picker = useRef<HTMLInputElement>(null)
  return (
    <>
      <button type="button" className="btn" disabled={busy} onClick={() => picker.current?.click()}>
        {label}
      </button>
      <input
        ref={picker}
        className="hide"
        type="file"
        tabIndex={-1}
        accept="image/png,image/jpeg,image/webp,image/gif"
        aria-label={label}
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? []
          if (file) onFile(file)
          event.currentTarget.value = ''
        }}
      />
    </>
  )
}
