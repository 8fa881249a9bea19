import type { FeatureItem } from '../../../features/workflow/schema.ts'
import { count } from '../../words.ts'

export const words = {
  title: (project: string) => `${project} features`,
  find: 'Find in these features',
  create: 'New feature',
  none: 'No features yet',
  noneText: 'A feature passes gates: code, tests, documentation and review. Each gate requires evidence.',
  command: (project: string) => `tutti features create -p ${project} "Offline reading"`,
  noMatch: 'No feature matches these filters.',
  assignee: 'assignee',
  kind: 'kind',
  state: 'state',
  mine: 'Me',
  nobody: 'No one',
  columnOf: (name: string, n: number) => `${name}, ${count(n, 'feature')}`,
  column: 'Column',
  more: (n: number) => `Show ${count(n, 'more feature', 'more features')}`,
  gates: (passed: number, all: number) => `${passed} of ${all} gates passed`,
  gateStates: { open: 'open', passed: 'passed', skipped: 'not required' },
  kinds: { feature: 'Feature', bug: 'Bug', hotfix: 'Hotfix', chore: 'Chore', test: 'Test' } satisfies Record<
    FeatureItem['kind'],
    string
  >,
  name: 'Title',
  description: 'Description',
  priority: 'Priority',
  createIt: 'Create feature',
} as const
