import type { FeatureView } from '../../../features/workflow/schema.ts'
import { capitalized, count } from '../../words.ts'

/** `in_progress` is "In progress": states and gates have the names that the project's workflow gives them. */
export const inWords = (name: string): string => capitalized(name.replaceAll('_', ' '))

export const words = {
  kinds: { feature: 'Feature', bug: 'Bug', hotfix: 'Hotfix', chore: 'Chore', test: 'Test' } satisfies Record<
    FeatureView['kind'],
    string
  >,
  opened: (day: string) => `opened ${day}`,
  now: 'now',
  ahead: 'ahead',
  since: (time: string) => `since ${time}`,
  track: 'States and gates',
  noGate: 'No gate.',
  final: 'Closes the feature.',
  skipped: (kind: string) => `Not asked of a ${kind}.`,
  lacks: (n: number) => `lacks ${n}`,
  gatePassed: 'gate passed',
  gateNext: 'next gate',
  gateAhead: 'gate ahead',
  oneApproval: 'One approval by somebody who is not the author.',
  verify: 'Verify',
  verifyOf: (summary: string) => `Verify: ${summary}`,
  verifiedBy: (name: string) => `checked by ${name}`,

  advance: (state: string) => `Advance to ${state}`,
  waits: 'It waits for another feature',
  override: 'Override…',
  overrideTitle: 'Override the gates',
  overrideText: 'Puts the feature into any state. The reason and your name go into the history.',
  moveTo: 'Move to',
  reason: 'Reason',
  overrideDo: 'Override the gates',
  more: 'More actions',
  edit: 'Edit…',
  remove: 'Delete',
  removed: 'Feature deleted',
  undo: 'Undo',

  missing: 'What the next gate lacks',
  nothingMissing: 'Nothing is missing. It can move on.',
  nMissing: (n: number) => `${n} missing`,
  sameForAgents: 'An agent that tries to advance now gets this same list, and the call that supplies each item.',
  callOf: 'The call that supplies it',
  addEvidence: 'Add evidence',

  evidenceTitle: (gate: string) => `Evidence for ${gate}`,
  evidence: {
    summary: 'What changed, or the result',
    files: 'Files',
    commits: 'Commits',
    pullRequests: 'Pull requests',
    testRuns: 'Test runs',
    links: 'Links',
  },
  oneEach: 'one on each line',
  iChecked: 'I have checked it myself (verified)',

  trail: 'Trail',
  entries: (n: number) => count(n, 'entry', 'entries'),
  noTrail: 'Nothing has been brought to a gate yet.',
  brought: 'brought evidence for',
  approved: 'approved it',
  askedForChanges: 'asked for changes',

  reviews: 'Reviews',
  needed: '1 needed',
  noReviews: 'Nobody has reviewed it yet.',
  verdicts: { approved: 'approved', changes_requested: 'changes asked' },
  comment: 'Comment',
  approve: 'Approve',
  askForChanges: 'Ask for changes',

  tasks: 'Tasks',
  tasksDone: (done: number, all: number) => `${done} of ${all} done`,
  related: 'Around it',
  spec: (title: string, version: number) => `${title} v${version}`,
  waitsFor: 'Waits for',
  description: 'Description',

  title: 'Title',
  priority: 'Priority',
  assignee: 'Assignee',
  nobody: 'Nobody',
  taskKeys: 'Tasks, by their keys',
  specRef: 'Spec, by its name in the address',
  save: 'Save',
  metOther: 'Somebody changed it first. This is how it is now; your change was not made.',
  features: 'Features',
  keys: { verify: 'verify evidence', evidence: 'add evidence', review: 'review' },
} as const
