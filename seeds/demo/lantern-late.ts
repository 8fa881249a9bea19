import { done, type Rest, task } from './tasks.ts'

const plane = 'A book on a plane'
const downloads = 'Downloads that finish'
const space = 'Know what is on the device'
const rights = 'Who may change what'
const safe = 'Nothing is lost'
const clear = 'Large, clear, loud'
const fast = 'Fast on old phones'
const books = 'Bring your books along'

/** A task that nobody has planned yet. */
const someday = (rest: Rest): Rest => ({ ...rest, backlog: true })

/** LAN-34 to LAN-68: what is under way, and what comes next. What happens to the open ones today is in `today.ts`. */
export const late = [
  task('Find a book by a word on its cover', books, 20, {
    by: 'chiara',
    points: 2,
    ...done('codex', 11, 'Title, author and series, without accents.', 'run 1074'),
  }),
  task('Measure the time from tap to first page', fast, 19, {
    labels: ['performance'],
    points: 1,
    ...done('claude', 13, 'Kept on the device. The median on our oldest phone is 610 ms.', 'run 1061'),
  }),
  task('Block store with one block size', plane, 18, {
    priority: 'critical',
    labels: ['offline'],
    points: 8,
    text: 'Books are stored in blocks of one size, so that a broken download can go on without an index.',
    acceptance: ['Any block can be read without its neighbours', 'A damaged block is found when it is read'],
  }),
  task('Undo the removal of a highlight', safe, 18, {
    labels: ['sync'],
    points: 1,
    ...done('chiara', 10, 'For ten seconds, with the keyboard too.'),
  }),
  task('Sign the sync envelope', safe, 17, {
    priority: 'high',
    labels: ['sync', 'security'],
    points: 3,
    after: [4],
    ...done('ada', 2, 'Ed25519 per device. The server refuses an envelope that nobody signed.', 'run 1120'),
  }),
  task('Encrypt the shelf at rest', rights, 17, {
    priority: 'high',
    labels: ['security'],
    points: 5,
    assignee: 'ada',
    due: 1,
    text: 'A lost phone must not give away what somebody reads. One key per device, held by the system’s key store.',
    acceptance: [
      'Nothing readable is left in the app’s folder',
      'Opening a book costs at most 20 ms more',
      'The key can be changed without a new download',
    ],
  }),
  task('Skeleton for slow covers', fast, 16, {
    by: 'chiara',
    labels: ['performance'],
    points: 1,
    ...done('chiara', 1, 'Appears after 200 ms, in the shape of the cover.'),
  }),
  task('Sync only the pages somebody reads', safe, 16, {
    by: 'ben',
    labels: ['idea'],
    cancelled: { day: 8, why: 'Superseded by the decision on blocks: whole blocks are simpler and cost the same.' },
  }),
  task('Read a book with no network, from the first page', plane, 15, {
    priority: 'critical',
    labels: ['offline'],
    points: 5,
    assignee: 'ada',
    due: 0,
    after: [33, 36],
    text:
      'Opening a downloaded book must not touch the network. Pages come from the block store; covers and fonts too. ' +
      'If a block is missing, say which one and offer to fetch it later.',
    acceptance: [
      'A downloaded book opens in 400 ms, network off',
      'No request leaves the device while reading',
      'A missing block is named, and can be fetched later',
      'Works after an upgrade from 1.8 without a new download',
    ],
  }),
  task('Say why a download waits', downloads, 15, {
    labels: ['offline'],
    points: 1,
    ...done('claude', 2, 'Four reasons, each with one thing to do about it.', 'run 1121'),
  }),
  task('Larger touch targets in the reader bar', clear, 14, {
    by: 'chiara',
    labels: ['accessibility'],
    points: 2,
    assignee: 'chiara',
    acceptance: ['Every target is at least 44 points', 'The bar fits at 320 points with text at 200 %'],
  }),
  task('Resume a broken download at the last block', downloads, 14, {
    by: 'ben',
    priority: 'high',
    labels: ['offline', 'network'],
    points: 5,
    assignee: 'ben',
    acceptance: ['At most one block is fetched twice', 'Works after the app was killed'],
  }),
  task('Show how old the shelf is', 'See what happened', 13, {
    points: 1,
    ...done('ben', 7, '“In step 2 minutes ago”, never a bare clock.'),
  }),
  task('Checksum every block on disk', downloads, 12, {
    by: 'ben',
    priority: 'high',
    labels: ['offline'],
    points: 3,
    assignee: 'ben',
    acceptance: ['40 damaged blocks out of 40 are found', 'Opening a book costs at most 5 ms more'],
  }),
  task('Show the storage each book takes', space, 12, {
    by: 'ben',
    labels: ['offline'],
    points: 2,
    assignee: 'chiara',
    text: 'Ben’s review of Offline reading asks for it: the size must be shown before a download starts.',
    acceptance: ['Shown before a download starts', 'Sorts the shelf by size', 'Adds up to what the system says'],
  }),
  task('Warn before the disk is full', space, 11, { by: 'ben', labels: ['offline'], points: 2, assignee: 'ben' }),
  task('Reading position survives a reinstall', safe, 11, {
    by: 'chiara',
    labels: ['sync'],
    points: 3,
    assignee: 'chiara',
    due: 2,
    acceptance: ['The position is back before the first page is drawn'],
  }),
  task('Change the key of a shelf', rights, 10, {
    labels: ['security'],
    points: 3,
    assignee: 'ada',
    after: [39],
  }),
  task('Queue downloads while on a metered link', space, 10, {
    by: 'ben',
    priority: 'high',
    labels: ['offline'],
    points: 3,
    assignee: 'ben',
    due: 3,
    after: [42, 45],
  }),
  task('Covers in the share sheet', books, 9, someday({ by: 'chiara', points: 1 })),
  task(
    'Repair damaged blocks in the background',
    downloads,
    9,
    someday({ labels: ['offline'], points: 3, after: [47] }),
  ),
  task('Trim the font bundle to 200 KB', fast, 9, someday({ labels: ['performance'], points: 2 })),
  task('Print a poster of the shelf', books, 8, someday({ by: 'chiara', priority: 'low', points: 2 })),
  task('Show both sides when two people edit one note', safe, 8, {
    labels: ['sync'],
    points: 5,
    assignee: 'ada',
    after: [42],
  }),
  task(
    'Read aloud keeps its place when the screen locks',
    clear,
    8,
    someday({ by: 'chiara', labels: ['audio'], points: 3 }),
  ),
  task('Covers at three sizes', fast, 7, {
    by: 'chiara',
    labels: ['performance'],
    points: 2,
    assignee: 'chiara',
  }),
  task('Migration guide for 2.0', 'See what happened', 7, { labels: ['docs'], points: 2, due: 10 }),
  task('Import highlights from other readers', books, 6, someday({ points: 5 })),
  task('Retry a failed upload with the same key', safe, 6, {
    by: 'ben',
    labels: ['sync'],
    points: 2,
    acceptance: ['The server stores it once, however often it arrives'],
  }),
  task(
    'Shared shelves: who may remove a book?',
    rights,
    5,
    someday({
      by: 'chiara',
      priority: 'high',
      labels: ['sync', 'question'],
      assignee: 'chiara',
    }),
  ),
  task('Night theme follows the sun', clear, 5, someday({ priority: 'low', labels: ['accessibility'], points: 1 })),
  task('Delete a shelf and keep the books that others hold', rights, 4, {
    by: 'ben',
    labels: ['sync', 'security'],
    points: 3,
    due: 17,
    after: [63],
  }),
  task('Move a library between two servers', books, 3, someday({ priority: 'low', labels: ['sync'], points: 8 })),
  task('Guide: what changes for readers', 'See what happened', 2, { labels: ['docs'], points: 1, part: 60 }),
  task('Guide: what a library must do first', 'See what happened', 2, { labels: ['docs'], points: 1, part: 60 }),
]
