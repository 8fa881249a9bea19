/** The words of the frame and of what several pages share. A page's own words are in its folder. */
import { pluralOf, type RecordName, recordNames } from '../records/names.ts'
import type { Priority, Status } from '../records/task-states.ts'
import { once } from './lib/once.ts'
import { minutes } from './lib/times.ts'

export const words = {
  acting: { as: (name: string) => `You are acting as ${name}`, stop: 'Stop' },
  reauth: {
    title: 'Confirm your identity',
    password: 'Password',
    code: 'Code',
    sent: (email: string) => `A code was sent to ${email}.`,
    useCode: 'Use a code instead',
    confirm: 'Confirm',
  },
  checkpointFields: {
    nextStep: 'Next step',
    openQuestions: 'Open questions',
    branch: 'Branch',
    files: 'Files',
    commands: 'Commands',
    checks: 'Checks',
  },
  copy: 'Copy',
  copied: 'Copied',
  undo: 'Undo',
  cancel: 'Cancel',
  save: 'Save',
  home: 'Tutti, home',
  places: {
    home: 'Home',
    inbox: 'Inbox',
    assistant: 'Assistant',
    now: 'Now',
    myTasks: 'My tasks',
    projects: 'Projects',
    memories: 'Memory',
    activity: 'Activity',
    tokens: 'Tokens',
    tunnels: 'Tunnels',
    team: 'Members and invites',
    trash: 'Trash',
    issues: 'Reports',
    settings: 'Settings',
    admin: 'Administration',
  },
  views: { overview: 'Overview', tasks: 'Tasks', plan: 'Plan', features: 'Features', notes: 'Notes' },
  groups: { favourites: 'Favourites', projects: 'Projects', team: 'Team' },
  sections: { knowledge: 'Knowledge', agents: 'Agents', analytics: 'Analytics' },
  noProjects: 'No projects yet',
  newProject: 'New project',
  projectMenu: {
    title: (name: string) => `Menu of ${name}`,
    settings: 'Name, key and colour',
    export: 'Export',
    share: 'Share…',
    archive: 'Archive',
    archived: (name: string) => `${name} was archived`,
  },
  teamMenu: {
    counts: (people: number, agents: number) =>
      `${people === 1 ? '1 person' : `${people} people`}, ${count(agents, 'agent')}`,
    switch: 'Switch team…',
    switchTitle: 'Switch team',
    create: 'New team',
  },
  addFavourite: 'Add to favourites',
  fullFavourites: 'You have 50 favourites. Remove one first.',
  askAssistant: 'Ask the assistant',
  sidebarIcons: 'Sidebar: icons only',
  allProjects: (n: number) => `All ${n < 200 ? n : '200+'} projects`,
  skip: 'Skip to content',
  main: 'Main',
  crumbs: 'Breadcrumbs',
  find: 'Search or jump to…',
  back: 'Back',
  search: 'Search',
  more: 'More',
  here: (names: string) => `Online now: ${names}`,
  others: (n: number) => `and ${n} more`,
  switchTeam: (name: string) => `Team: ${name}, switch`,
  theme: { light: 'Theme: light', dark: 'Theme: dark', system: 'Theme: system' },
  help: 'Help and shortcuts',
  helpMenu: { keys: 'Keyboard shortcuts', manual: 'Manual', reference: 'API reference', report: 'Report a problem' },
  account: (name: string) => `Your account: ${name}`,
  accountMenu: { settings: 'Settings', signOut: 'Sign out' },
  keys: {
    title: 'Keyboard shortcuts',
    here: 'On this page',
    everywhere: 'Everywhere',
    off: 'Single-key shortcuts are off.',
    turnOn: 'Turn on',
    turnOff: 'Turn off single-key shortcuts',
    palette: 'Search, jump or act',
    search: 'Search',
    help: 'Show keyboard shortcuts',
    go: (place: string) => `Go to ${place}`,
    undo: 'Undo',
    next: 'Next row',
    previous: 'Previous row',
  },
  palette: {
    title: 'Search or jump',
    tasks: 'Tasks',
    knowledge: 'Notes and decisions',
    others: 'More results',
    go: 'Go to',
    act: 'On this page',
    doWith: (subject: string) => `On ${subject}`,
    actingOn: 'on',
    notOn: (subject: string) => `Not on ${subject}`,
    filters: 'Filters',
    filterKeys: { label: 'label', assignee: 'assignee', project: 'project', status: 'state', is: 'task' },
    is: 'is',
    isNot: 'is not',
    removeFilter: (text: string) => `Remove ${text}`,
    byMeaning: (q: string) => `Search by meaning for “${q}”`,
    general: 'Theme and team',
    search: 'Search',
    searchFor: (q: string) => `Search for “${q}”`,
    open: (key: string) => `Open ${key}`,
    team: (name: string) => `Team: ${name}`,
    nothing: 'Nothing matches.',
    hints: { move: 'choose', open: 'run', tab: 'new tab', close: 'close' },
  },
  live: 'Live',
  joining: 'Connecting…',
  stream: 'Live',
  polling: 'Live (polling)',
  away: 'Offline. Reconnecting…',
  offlineSince: (time: string) => `Offline since ${time}`,
  loadedAt: (time: string) => `Loaded at ${time}`,
  notReloaded: 'This page could not be loaded again.',
  keysHere: 'Shortcuts',
  atWork: (n: number) => `${n} at work`,
  undone: (title: string) => `Undone: ${title}`,
  nothingToUndo: 'There is no recent change to undo.',
  notUndone: (title: string) => `Could not undo: ${title}`,
  inTeams: 'Several of your teams have this page',
  inTeamsText: 'Choose the team to open it in:',
  atWorkNow: 'Working now',
  favourite: 'Favourite',
  stalledFor: (time: string) => `stalled ${time}`,
  lastCall: 'last call by the holder',
  lastChange: 'last change by the holder',
  minutesLeft: (n: number) => `${minutes(n)} left`,
  tryAgain: 'Try again',
  tryNow: 'Try now',
  loading: 'Loading…',
  notLoaded: 'Not loaded yet',
  notLoadedText: 'The server cannot be reached. This page opens when the connection is back.',
  notFound: 'Page not found',
  notFoundText: 'Check the address. The page may have been deleted, or you may not have access to it.',
  toProjects: 'All projects',
  toSearch: 'Search',
  clearFilters: 'Clear filters',
  filter: 'Filter',
  removeFilter: 'Remove filter',
} as const

export const statusNames: Record<Status, string> = {
  backlog: 'Backlog',
  todo: 'Todo',
  in_progress: 'In progress',
  blocked: 'Blocked',
  in_review: 'In review',
  done: 'Done',
  cancelled: 'Cancelled',
}

export const priorityNames: Record<Priority, string> = {
  critical: 'Critical',
  high: 'High',
  medium: 'Medium',
  low: 'Low',
}

// Making a format takes longer than drawing the text.
const numbers = once(() => new Intl.NumberFormat())
const plurals = once(() => new Intl.PluralRules('en'))

/** `count(3, 'task')` is "3 tasks". */
export const count = (n: number, one: string, many = `${one}s`): string =>
  `${numbers().format(n)} ${plurals().select(n) === 'one' ? one : many}`

/** What pages call one record of a kind, and several. */
export const kindNames = Object.fromEntries(
  recordNames.map((name) => [name, { one: name, many: pluralOf(name) }]),
) as Record<RecordName, { one: string; many: string }>
/** The name of several records at the beginning of a line: "Tasks". */
export const kindTitle = (kind: RecordName): string => capitalize(kindNames[kind].many)

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
