import { done, task } from './tasks.ts'

const backups = 'Backups nobody thinks about'
const fair = 'Fair to every library'
const leave = 'Export and import'

/** HAR-1 to HAR-12. */
export const harbourTasks = [
  task('One folder holds everything', backups, 35, {
    by: 'ben',
    points: 3,
    ...done('ben', 32, 'Data, keys and settings in one folder with one lock.', 'run 388'),
  }),
  task('Refuse a second server on the same folder', backups, 34, {
    by: 'ben',
    priority: 'high',
    points: 1,
    acceptance: ['A second process stops with one clear line'],
    ...done('codex', 30, 'A lock on the folder; the message names the other process.', 'run 391'),
  }),
  task('Limit requests per library', fair, 31, {
    by: 'ben',
    priority: 'high',
    labels: ['limits'],
    points: 3,
    ...done('codex', 18, 'A bucket per library. One busy school no longer slows the others.', 'PR 57', 'run 402'),
  }),
  task('Say how long to wait', fair, 28, {
    by: 'ben',
    labels: ['limits'],
    points: 1,
    ...done('ben', 17, '`Retry-After` in whole seconds; the app shows it as a sentence.'),
  }),
  task('Export a library as one file', leave, 26, {
    by: 'ben',
    points: 5,
    ...done('codex', 9, 'Rows as text with checksums, the same on every machine.', 'run 421'),
  }),
  task('Check a backup by reading it', backups, 20, {
    by: 'ben',
    labels: ['backup'],
    points: 3,
    ...done('ben', 6, 'Every backup is read back before the old one is removed.', 'run 428'),
  }),
  task('Copy the store while it serves', backups, 16, {
    by: 'ben',
    priority: 'high',
    labels: ['backup'],
    points: 5,
    assignee: 'ben',
    acceptance: ['No request waits longer than 100 ms', 'The copy opens without repair'],
  }),
  task('Import on another machine', leave, 13, { by: 'ben', points: 3, after: [5] }),
  task('A page that shows the load per library', fair, 11, {
    by: 'ben',
    labels: ['limits'],
    points: 2,
    assignee: 'codex',
  }),
  task('Old exports can still be read', leave, 9, { by: 'ben', points: 2, backlog: true }),
  task('Restore one shelf, not the whole library', backups, 7, { by: 'ben', points: 5, after: [7], backlog: true }),
  task('Write down what runs at night', backups, 4, { by: 'ben', labels: ['docs'], points: 1 }),
]
