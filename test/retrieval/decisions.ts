/**
 * Decisions and tasks of a team, and questions about them in other words than the stored ones. `answer` says which part
 * of the record holds the answer. Every question has neighbours that mention the same subject and do not answer it.
 */
export interface DecisionText {
  title: string
  context: string
  decision: string
  rationale: string
  alternatives: { option: string; pros: string; cons: string }[]
  comments?: string[]
}

export const decisions: Record<string, DecisionText> = {
  queue: {
    title: 'Jobs live in a table of the main database',
    context: 'Sending receipts and resizing covers must survive a restart, and must not run twice.',
    decision: 'We keep jobs in a Postgres table and take them with skip locked.',
    rationale: 'One thing to back up, one thing to watch, and a job commits together with the row that caused it.',
    alternatives: [
      {
        option: 'RabbitMQ',
        pros: 'Made for this, with dead letters and priorities',
        cons: 'Another service that somebody has to patch at night, and messages are not part of our transaction',
      },
      { option: 'Redis lists', pros: 'Fast, known to the team', cons: 'Loses what was not written to disk yet' },
    ],
    comments: ['Above two thousand jobs a second the vacuum will not keep up. We are at forty.'],
  },
  ids: {
    title: 'Identifiers are random and sorted by time',
    context: 'Customers guessed the number of other customers from the addresses of their invoices.',
    decision: 'New tables use UUIDv7; old ones keep their numbers inside and get a public identifier.',
    rationale: 'Nobody can count our customers, and inserts stay at the end of the index.',
    alternatives: [
      { option: 'Hashids over the counter', pros: 'Short', cons: 'The salt leaks sooner or later' },
      {
        option: 'UUIDv4',
        pros: 'Every library has it',
        cons: 'Pages of the index are filled at random and stay half empty',
      },
    ],
  },
  money: {
    title: 'Amounts are whole cents',
    context: 'Two reports disagreed by one cent after a discount.',
    decision: 'Every amount is an integer of the smallest unit with its currency beside it.',
    rationale: 'Sums are exact and comparisons are trivial.',
    alternatives: [
      {
        option: 'numeric(12,2)',
        pros: 'Readable in the database',
        cons: 'JavaScript turns it into a float on the way out',
      },
    ],
    comments: [
      'Kuwait and Bahrain have three decimal places. The currency table must say how many, or we charge ten times as much.',
    ],
  },
  login: {
    title: 'Sign in with a link by mail',
    context: 'A third of all support requests were about forgotten passwords.',
    decision: 'Readers sign in with a link that works once for ten minutes; passwords are kept for staff only.',
    rationale: 'Whoever reads the mailbox could reset a password anyway.',
    alternatives: [
      {
        option: 'Passkeys only',
        pros: 'Cannot be phished',
        cons: 'The shared computers in branch libraries have no fingerprint reader and wipe the browser every night',
      },
      { option: 'Login with Google', pros: 'One click', cons: 'School districts block it' },
    ],
    comments: [
      'Scanners of mail gateways open every link. The link needs a button behind it, or it is used up before the reader sees it.',
    ],
  },
  covers: {
    title: 'Covers are cut to three sizes when they arrive',
    context: 'Phones downloaded pictures of four megabytes for a list.',
    decision: 'We make 120, 360 and 1080 pixels in WebP at upload and keep the original.',
    rationale: 'A list costs 40 kilobytes, and nothing is computed while a reader waits.',
    alternatives: [
      {
        option: 'Resize on request with a cache',
        pros: 'Any size',
        cons: 'The first reader of each picture waits two seconds',
      },
      { option: 'AVIF', pros: 'A third smaller', cons: 'Encoding one cover takes eleven seconds on our machines' },
    ],
  },
  search: {
    title: 'Search uses Postgres',
    context: 'Readers expect results while they type.',
    decision: 'Full text search with a trigram index, in the same database.',
    rationale: 'Twelve million rows answer within 60 milliseconds.',
    alternatives: [
      {
        option: 'Elasticsearch',
        pros: 'Facets, languages, ranking',
        cons: 'Two copies of the catalogue that drift apart, and 16 gigabytes of memory for the smallest cluster',
      },
      { option: 'A hosted search', pros: 'No servers', cons: 'Loans of readers would leave the country' },
    ],
    comments: ['Compound words in German and Finnish are not split. A search for "Bahnhof" misses "Bahnhofstraße".'],
  },
  offlineStore: {
    title: 'Books on a device are stored in blocks',
    context: 'A download that broke at 95 percent began again from zero.',
    decision: 'A book is cut into blocks of 256 kilobytes, each with a checksum.',
    rationale: 'A broken download continues, and a damaged block is fetched alone.',
    alternatives: [
      {
        option: 'One file and HTTP ranges',
        pros: 'Simple',
        cons: 'Two of the publishers send a new ETag for every request',
      },
      { option: 'A torrent between devices', pros: 'Saves our bandwidth', cons: 'Licences forbid passing on' },
    ],
  },
  encryption: {
    title: 'The shelf on a device is encrypted',
    context: 'A stolen tablet showed what its reader had borrowed.',
    decision: 'Everything on the device is encrypted with a key in the keystore of the system.',
    rationale: 'Publishers ask for it, and readers expect it.',
    alternatives: [
      { option: 'Encrypt the books only', pros: 'Faster', cons: 'The list of titles is what readers want hidden' },
    ],
    comments: [
      'After a change of the screen lock, Android 9 throws the key away. We must be able to fetch everything again.',
    ],
  },
  releases: {
    title: 'A release every second Tuesday',
    context: 'Releases were made when somebody found the time, and were large.',
    decision: 'Every second Tuesday what is merged goes out; what is not ready waits.',
    rationale: 'Small releases fail in small ways.',
    alternatives: [
      {
        option: 'Release on every merge',
        pros: 'Shortest way to readers',
        cons: 'App stores take up to three days to approve, so versions would pile up behind each other',
      },
    ],
  },
  browsers: {
    title: 'Browsers of the last three years',
    context: 'Polyfills made half of the script.',
    decision: 'We support browsers that are at most three years old.',
    rationale: 'Covers 97 percent of the sessions.',
    alternatives: [{ option: 'Also Internet Explorer', pros: 'Some libraries have nothing else', cons: 'No CSS grid' }],
    comments: ['The kiosks in Malmö run a browser of 2019 and cannot be updated before their contract ends in May.'],
  },
  logs: {
    title: 'Logs are kept for thirty days',
    context: 'The disk was full twice, and the lawyer asked what we store about readers.',
    decision: 'Logs are deleted after thirty days, and contain no titles and no names.',
    rationale: 'Enough to find a fault, and nothing to hand over.',
    alternatives: [
      {
        option: 'Keep them for a year',
        pros: 'Compare seasons',
        cons: 'What somebody reads is as private as a diagnosis',
      },
    ],
  },
  language: {
    title: 'The server is written in Go',
    context: 'The prototype in Python needed eight machines.',
    decision: 'The sync server is rewritten in Go.',
    rationale: 'One binary, little memory, and three of us know it.',
    alternatives: [
      { option: 'Rust', pros: 'No pauses at all', cons: 'Nobody on call could repair it at three in the morning' },
      { option: 'Stay with Python and add machines', pros: 'No work', cons: 'Costs as much as another developer' },
    ],
  },
  testing: {
    title: 'Tests run against a real database',
    context: 'A mock accepted a query that Postgres refused.',
    decision: 'Every test that stores something uses a Postgres of its own, made from a template.',
    rationale: 'Eighty milliseconds a database is cheaper than one wrong release.',
    alternatives: [
      { option: 'SQLite in memory', pros: 'Faster', cons: 'Other types, other locks, other errors' },
      { option: 'Mocks', pros: 'Fastest', cons: 'They test what we believe about the database' },
    ],
  },
  notifications: {
    title: 'Reminders go out in the morning',
    context: 'Readers returned books late although they had been reminded.',
    decision: 'Reminders are sent at eight in the morning, two days before a loan ends.',
    rationale: 'People pass the library on their way to work.',
    alternatives: [
      { option: 'A text message', pros: 'Everybody reads it', cons: 'Seven cents each, forty thousand a month' },
    ],
    comments: [
      'In Ramadan, and in the summer of the far north, mornings are another time of day. Let libraries set the hour.',
    ],
  },
  monorepo: {
    title: 'One repository for app and server',
    context: 'A change of the protocol needed three pull requests in the right order.',
    decision: 'App, server and protocol live in one repository.',
    rationale: 'A change and its test on both sides are one commit.',
    alternatives: [
      { option: 'Submodules', pros: 'Separate histories', cons: 'Half of us forgot to update them' },
      { option: 'A package of the protocol', pros: 'Clear versions', cons: 'Every experiment must be published first' },
    ],
  },
  licence: {
    title: 'The reader is under the AGPL',
    context: 'Libraries ask to host it themselves.',
    decision: 'The code is published under the AGPL, the name stays ours.',
    rationale: 'Whoever improves it for readers gives it back.',
    alternatives: [
      {
        option: 'MIT',
        pros: 'Companies like it',
        cons: 'A vendor could sell our work to our own customers and keep the changes',
      },
      {
        option: 'Source available',
        pros: 'Protects the business',
        cons: 'Debian and the universities would not package it',
      },
    ],
  },
  // No question asks for these, except for hosting.
  colours: {
    title: 'Two themes, light and dark',
    context: 'Readers asked for a dark page.',
    decision: 'Both themes are made from the same tokens.',
    rationale: 'No colour is chosen twice.',
    alternatives: [{ option: 'Sepia as well', pros: 'Some love it', cons: 'A third set of contrasts to check' }],
  },
  meetings: {
    title: 'No meetings on Wednesday',
    context: 'Nobody had four hours in a row.',
    decision: 'Wednesdays are free of meetings.',
    rationale: 'Work needs silence.',
    alternatives: [{ option: 'Mornings without meetings', pros: 'Every day', cons: 'Other time zones' }],
    comments: ['The night shift of support asks for Thursday instead.'],
  },
  hosting: {
    title: 'Servers stand in Gothenburg',
    context: 'The contract with the data centre in Frankfurt ended.',
    decision: 'We rent two racks in Gothenburg.',
    rationale: 'We can drive there.',
    alternatives: [{ option: 'A cloud', pros: 'Elastic', cons: 'Twice the price for a steady load' }],
  },
  fonts: {
    title: 'Readers choose among five fonts',
    context: 'Publishers embed fonts that are hard to read.',
    decision: 'Five fonts, one of them for dyslexic readers.',
    rationale: 'More would be a catalogue.',
    alternatives: [
      { option: 'Any font of the system', pros: 'Free choice', cons: 'Pages break in other places on each device' },
    ],
  },
}

export interface TaskText {
  title: string
  description: string
  comments?: string[]
}

export const tasks: Record<string, TaskText> = {
  resume: {
    title: 'Resume downloads after a lost connection',
    description: 'A download continues at the first block that is missing.',
    comments: [
      'On trains the phone keeps a dead connection for four minutes. We must give up after twenty seconds without a byte.',
    ],
  },
  sort: {
    title: 'Sort the shelf by author',
    description: 'By family name, then by title.',
    comments: ['Icelandic authors have no family name; the national library sorts them by their first name.'],
  },
  importer: {
    title: 'Import catalogues of small libraries',
    description: 'They come as spreadsheets with the columns title, author, year and shelf mark.',
    comments: [
      'The village of Arjeplog sends Latin-1 with a comment line at the top. Try both encodings before you complain.',
    ],
  },
  print: {
    title: 'Print a receipt at the counter',
    description: 'The list of borrowed books with their dates of return.',
    comments: ['The thermal printers cut the paper by themselves only if the job ends with two empty lines.'],
  },
  push: {
    title: 'Tell readers when a reserved book is there',
    description: 'One message for each reservation.',
    comments: [
      'Several reservations of one family arrive within a minute. Wait a quarter of an hour and send one message.',
    ],
  },
  battery: {
    title: 'Sync drains the battery',
    description: 'Measure and reduce what sync costs on Android.',
    comments: ['Found it: the radio was woken every fifteen seconds to ask for nothing. It listens to a push now.'],
  },
  contrast: { title: 'Raise the contrast of disabled buttons', description: 'At least 3 to 1.' },
  archive: { title: 'Archive loans of closed branches', description: 'Nobody looks at them, and lists are long.' },
  badge: { title: 'Show the number of new books', description: 'On the icon of the app.' },
  tour: { title: 'A tour for new librarians', description: 'Five pages with pictures.' },
}

type Answer = 'text' | 'alternative' | 'comment'
export const decisionQuestions: { ask: string; expect: keyof typeof decisions; answer: Answer }[] = [
  { ask: 'how did we stop people from working out how many clients we have?', expect: 'ids', answer: 'text' },
  { ask: 'what happens to a half-finished transfer of an e-book?', expect: 'offlineStore', answer: 'text' },
  { ask: 'why is there no message broker?', expect: 'queue', answer: 'alternative' },
  { ask: 'reason against biometric authentication', expect: 'login', answer: 'alternative' },
  { ask: 'did anybody propose a permissive open source licence?', expect: 'licence', answer: 'alternative' },
  { ask: 'why do we not ship continuously?', expect: 'releases', answer: 'alternative' },
  {
    ask: 'dedicated engine for finding titles and what it would have cost us',
    expect: 'search',
    answer: 'alternative',
  },
  { ask: 'currencies that are not divided into hundredths', expect: 'money', answer: 'comment' },
  { ask: 'spam filters that consume one-time addresses', expect: 'login', answer: 'comment' },
  { ask: 'public terminals stuck on outdated software', expect: 'browsers', answer: 'comment' },
  { ask: 'losing the secret when the PIN of the phone is replaced', expect: 'encryption', answer: 'comment' },
  { ask: 'throughput at which the background work would become too much', expect: 'queue', answer: 'comment' },
  { ask: 'why are pictures not shrunk on demand?', expect: 'covers', answer: 'alternative' },
  { ask: 'better compression format that was too slow to produce', expect: 'covers', answer: 'alternative' },
  { ask: 'privacy of borrowing habits in diagnostic files', expect: 'logs', answer: 'alternative' },
  {
    ask: 'which systems language did we turn down because of the people on duty?',
    expect: 'language',
    answer: 'alternative',
  },
  { ask: 'is an embedded database good enough for the test suite?', expect: 'testing', answer: 'alternative' },
  { ask: 'price of sending SMS', expect: 'notifications', answer: 'alternative' },
  { ask: 'local customs about the time of day for alerts', expect: 'notifications', answer: 'comment' },
  {
    ask: 'keeping the shared contract between client and backend as a separate library',
    expect: 'monorepo',
    answer: 'alternative',
  },
  { ask: 'words glued together in other languages are not found', expect: 'search', answer: 'comment' },
  { ask: 'peer to peer distribution and copyright', expect: 'offlineStore', answer: 'alternative' },
  { ask: 'renting virtual machines compared with own hardware', expect: 'hosting', answer: 'alternative' },
  { ask: 'how long may we retain traces of requests', expect: 'logs', answer: 'text' },
  { ask: 'what annoyed people about resetting their credentials', expect: 'login', answer: 'text' },
  { ask: 'rounding differences between two statements', expect: 'money', answer: 'text' },
]

export const taskQuestions: { ask: string; expect: keyof typeof tasks }[] = [
  { ask: 'alphabetical order of people from Reykjavik', expect: 'sort' },
  { ask: 'garbled letters in the files from the north', expect: 'importer' },
  { ask: 'grouping alerts for relatives', expect: 'push' },
  { ask: 'polling wakes up the device too often', expect: 'battery' },
  { ask: 'stalled network while travelling', expect: 'resume' },
  { ask: 'slip of paper is not separated at the desk', expect: 'print' },
]
