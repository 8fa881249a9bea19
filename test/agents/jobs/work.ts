/** What the 13 jobs are about: Tutti's agents and those of other programs work with these texts. */

export interface Planned {
  ref: string
  title: string
  blockedBy?: string[]
}

/** A feature of 12 tasks with 8 dependencies. */
export const feature = 'One process for each folder'
export const plan: Planned[] = [
  { ref: 'a', title: 'Lock the data folder' },
  { ref: 'b', title: 'Refuse a second process', blockedBy: ['a'] },
  { ref: 'c', title: 'Name the process that holds the lock', blockedBy: ['b'] },
  { ref: 'd', title: 'Release the lock at exit', blockedBy: ['a'] },
  { ref: 'e', title: 'Take over the lock of a dead process', blockedBy: ['a'] },
  { ref: 'f', title: 'Test with two processes', blockedBy: ['b'] },
  { ref: 'g', title: 'Test after kill -9', blockedBy: ['e'] },
  { ref: 'h', title: 'Show the lock in doctor', blockedBy: ['c'] },
  { ref: 'i', title: 'Document the exit codes' },
  { ref: 'j', title: 'Translate the messages' },
  { ref: 'k', title: 'Measure the start' },
  { ref: 'l', title: 'Announce it in the changelog', blockedBy: ['f'] },
]

export interface Written {
  title: string
  description: string
}

/** Tasks that are worked through one after another. */
export const queue: Written[] = [
  { title: 'Lock the data folder', description: 'Use flock on the file .lock in the folder.' },
  { title: 'Refuse a second process', description: 'Exit with code 3 before the database opens.' },
  { title: 'Name the holder', description: 'Write the process id into the lock file.' },
  { title: 'Release the lock at exit', description: 'Also after SIGTERM and SIGHUP.' },
  { title: 'Test with two processes', description: 'Start both at once, one hundred times.' },
  { title: 'Document the exit codes', description: 'A table in the manual, chapter Operating.' },
]
export const doneNote = 'Done as described; bun test test/db passes.'

/** One task in 120 has to be found by words that it contains. */
export const many: Written[] = Array.from({ length: 120 }, (_, n) =>
  n === 71
    ? { title: 'Rotate the audit log', description: 'Keep 30 files of 10 MB and compress the older ones.' }
    : {
        title: `${['Check', 'Rename', 'Move', 'Test'][n % 4]} module ${n + 1}`,
        description: 'Follow the new layout of folders.',
      },
)
export const sought = { query: 'audit log', title: 'Rotate the audit log' }

export const facts: Written[] = [
  { title: 'Backups', description: 'Nightly dumps go to the second disk; restoring one took 40 minutes in March.' },
  { title: 'Staging', description: 'The staging server listens on port 9090 behind Caddy.' },
  { title: 'Colours', description: 'Button colours come from the file design-tokens.css.' },
  { title: 'Flaky test', description: 'The mail test fails when port 25 is taken by Postfix.' },
  { title: 'Release', description: 'Releases are tagged on Tuesdays after the call with support.' },
]
export const paraphrase = { query: 'how long does it take to get lost data back?', found: '40 minutes' }

export const checkpoint = {
  nextStep: 'Write the test in test/db/lock.test.ts',
  files: ['src/db/lock.ts'],
  branch: 'folder-lock',
  openQuestions: ['Does NFS support flock?'],
}

export const decision = {
  title: 'Lock with flock',
  decision: 'We lock the data folder with flock.',
  rationale: 'The kernel releases it when the process dies.',
  alternatives: ['A file with the process id', 'A port that is kept open'],
}

export const handover = 'flock is taken in src/db/lock.ts; the test with two processes is missing.'

/** A task that cannot be done well without what stands around it. */
export const rich = {
  predecessor: { title: 'Lock the data folder', notes: 'The lock is the file .lock; it holds the process id.' },
  task: {
    title: 'Refuse a second process',
    description: 'A second server on one folder destroys data.',
    acceptance: ['It exits with code 3', 'The message names the process id'],
  },
  comment: 'Please do not wait for the lock: fail at once.',
}

export const parts = ['Parse the lock file', 'Compare the process ids', 'Print the message']

export const jobNames = [
  'plan a feature of 12 tasks with 8 dependencies',
  'next, start, finish, next, five times',
  'what is blocked and why',
  'find one of 120 tasks by words',
  'remember five facts and find one by paraphrase',
  'resume after total loss of context',
  'record a decision with alternatives and look it up',
  'two agents take six tasks',
  'hand over half-done work',
  'read a task with all that is needed',
  'report today’s work',
  'split a task in three and finish them',
  'recover from a wrong id and a wrong status',
] as const
export type JobName = (typeof jobNames)[number]
