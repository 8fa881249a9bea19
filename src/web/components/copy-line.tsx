/** A command for a terminal or a prompt for an agent, with a button that copies it. */
import { Copy } from 'lucide-react'
import type { ReactNode } from 'react'
import { copyText } from '../lib/clipboard.ts'
import { words } from '../words.ts'
import { toast } from './toasts.tsx'

interface Props {
  /** What it is for. */
  label: string
  text: string
  /** How the text looks, if not as it is. */
  children?: ReactNode
  /** Words for an agent, not a command: shown whole. */
  say?: boolean
}

export function CopyLine({ label, text, children, say = false }: Props) {
  const copy = async () => {
    await copyText(text)
    toast({ title: words.copied })
  }
  return (
    <div className="wayrow">
      <span className="t12 soft">{label}</span>
      <div className={say ? 'code line say' : 'code line'}>
        <span className={say ? 'grow' : 'grow cut'}>{children ?? text}</span>
        <button type="button" className="ib" aria-label={words.copy} onClick={() => void copy()}>
          <Copy className="i s14" aria-hidden />
        </button>
      </div>
    </div>
  )
}
