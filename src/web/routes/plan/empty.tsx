import type { ReactNode } from 'react'
import { CopyLine } from '../../components/copy-line.tsx'
import { Empty } from '../../components/states.tsx'
import { words } from './words.ts'

export const Nothing = ({ projectKey, children }: { projectKey: string; children: ReactNode }) => (
  <div className="scroll">
    <Empty title={words.none}>
      <p className="soft">{words.noneText}</p>
      <div className="row voidact">{children}</div>
      <div className="sheet ways">
        <CopyLine label={words.say} text={words.sayText(projectKey)} say />
        <CopyLine label={words.terminal} text={words.command(projectKey)} />
      </div>
    </Empty>
  </div>
)
