import type { DecisionItem } from '../../../features/decisions/schema.ts'

export const words = {
  title: 'Decisions',
  create: 'Log a decision',
  find: 'Find in decisions',
  status: 'status',
  project: 'project',
  none: 'No decisions yet',
  noneText: 'A decision records what was chosen, why, and the alternatives. Agents read decisions before they start.',
  command: 'tutti decisions create "Lock the folder with flock" --decision "…"',
  noMatch: 'No decision matches these filters.',
  wholeTeam: 'Whole team',
} as const

export const statusNames: Record<DecisionItem['status'], string> = {
  proposed: 'Proposed',
  accepted: 'Accepted',
  rejected: 'Rejected',
  superseded: 'Superseded',
}
/** Each status has its word; the colour only repeats it. */
export const statusFlags: Record<DecisionItem['status'], string> = {
  proposed: 'flag info',
  accepted: 'flag good',
  rejected: 'flag bad',
  superseded: 'flag',
}
