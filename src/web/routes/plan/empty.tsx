import type { ReactNode } from 'react'
import { CopyLine } from '../../components/copy-line.tsx'
import { EmptyState } from '../../components/states.tsx'
import { words } from './words.ts'

export const EmptyPlan = ({ projectKey, children }: { projectKey: string; children: ReactNode }) => (
  <div className="scroll">
    <EmptyState title={words.none}>
      <p className="soft">{words.noneText}</p>
      <div className="row voidact">{children}</div>
      <div className="sheet ways">
        <CopyLine label={words.say} text={words.sayText(projectKey)} say />
        <CopyLine label={words.terminal} text={words.command(projectKey)} />
      </div>
    </EmptyState>
  </div>
)
