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
  skipped: (kind: string) => `Not required for a ${kind}.`,
  lacks: (n: number) => `${n} missing`,
  gatePassed: 'gate passed',
  gateNext: 'next gate',
  gateAhead: 'gate ahead',
  oneApproval: 'One approval by someone other than the author.',
  verify: 'Verify',
  verifyOf: (summary: string) => `Verify: ${summary}`,
  verifiedBy: (name: string) => `checked by ${name}`,

  advance: (state: string) => `Advance to ${state}`,
  waits: 'Waiting for another feature',
  override: 'Override…',
  overrideTitle: 'Override the gates',
  overrideText: 'Moves the feature to any state. The history records the reason and your name.',
  moveTo: 'Move to',
  reason: 'Reason',
  overrideDo: 'Override the gates',
  more: 'More actions',
  edit: 'Edit…',
  remove: 'Delete',
  removed: 'Feature deleted',
  undo: 'Undo',

  missing: 'Missing for the next gate',
  nothingMissing: 'Nothing is missing. The feature can advance.',
  nMissing: (n: number) => `${n} missing`,
  sameForAgents:
    'An agent that tries to advance the feature gets this same list, with the call that supplies each item.',
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
  oneEach: 'one per line',
  iChecked: 'I checked it myself (verified)',

  trail: 'Trail',
  entries: (n: number) => count(n, 'entry', 'entries'),
  noTrail: 'No evidence submitted yet.',
  brought: 'submitted evidence for',
  approved: 'approved the feature',
  askedForChanges: 'requested changes',

  reviews: 'Reviews',
  needed: '1 needed',
  noReviews: 'No reviews yet.',
  verdicts: { approved: 'approved', changes_requested: 'changes requested' },
  comment: 'Comment',
  approve: 'Approve',
  askForChanges: 'Request changes',

  tasks: 'Tasks',
  tasksDone: (done: number, all: number) => `${done} of ${all} done`,
  related: 'Related',
  spec: (title: string, version: number) => `${title} v${version}`,
  waitsFor: 'Waits for',
  description: 'Description',

  title: 'Title',
  priority: 'Priority',
  assignee: 'Assignee',
  nobody: 'Nobody',
  taskKeys: 'Task keys',
  specRef: 'Spec slug',
  save: 'Save',
  metOther: 'Someone else changed this first. Your change was not saved.',
  features: 'Features',
  keys: { verify: 'verify evidence', evidence: 'add evidence', review: 'review' },
} as const
