import { agoLabel } from '../../lib/times.ts'
import { count } from '../../words.ts'
import type { SettingsPage } from './names.ts'

/** Names of the pages, for their list and their titles. */
export const titles: Record<SettingsPage, string> = {
  profile: 'Profile',
  security: 'Password and address',
  passkeys: 'Passkeys',
  sessions: 'Active sessions',
  keys: 'API keys',
  grants: 'Authorized programs',
  accounts: 'Connected accounts',
  integrations: 'Integrations',
  preferences: 'Preferences',
  notifications: 'Notifications',
  data: 'Your data',
}

export const words = {
  settings: 'Settings',
  save: 'Save',
  saved: 'Saved',
  cancel: 'Cancel',
  remove: 'Remove',
  name: 'Name',
  never: 'never used',
  used: (time: string) => `used ${agoLabel(time)}`,
  until: (day: string) => `until ${day}`,
  none: 'None yet.',
} as const

export const profileWords = {
  handle: 'Handle',
  handleHint: 'Others mention you as @handle.',
  bio: 'About you',
  timezone: 'Time zone',
  locale: 'Language and region',
  picture: 'Picture',
  choosePicture: 'Choose a picture',
  removePicture: 'Remove the picture',
  invites: 'Invitations',
  invited: (by: string | undefined, team: string, role: string) =>
    by ? `${by} invites you to ${team} as ${role}.` : `You are invited to ${team} as ${role}.`,
  accept: 'Accept',
  decline: 'Decline',
  accepted: (team: string) => `Welcome to ${team}`,
  declined: 'You declined the invitation',
} as const

export const securityWords = {
  password: 'Password',
  current: 'Current password',
  currentHint: 'Leave empty if you have no password.',
  next: 'New password',
  nextHint: (least: number) =>
    `At least ${least} characters. A change signs you out everywhere else and revokes your API keys and MCP tokens.`,
  change: 'Change password',
  changed: 'Your password was changed. All other sessions were signed out.',
  email: 'E-mail address',
  newEmail: 'New e-mail address',
  move: 'Change address',
  sent: (to: string, now: string) => `A link was sent to ${to}. Until you open it, your address stays ${now}.`,
  kept: (to: string, detail: string, now: string) =>
    `There is a link for ${to}. ${detail} Until you open it, your address stays ${now}.`,
  unverified: (email: string) => `Your address ${email} is not confirmed yet.`,
  again: 'Request a new mail',
  mailed: (email: string) => `A mail was sent to ${email}.`,
  mailKept: (email: string, detail: string) => `There is a new mail for ${email}. ${detail}`,
} as const

export const passkeyWords = {
  about: 'Sign in with your fingerprint, face or security key.',
  add: 'Add a passkey',
  placeholder: 'this laptop',
  rename: 'Rename',
  confirm: (name: string) => `Remove the passkey ${name}?`,
  confirmText: 'You can no longer sign in with it.',
  backedUp: 'backed up',
  named: ['For passkeys, open', 'instead.'],
  needHttps: 'Passkeys need an https address with a name.',
  tooOld: 'This browser is too old for passkeys.',
  failed: {
    NotAllowedError: 'No passkey was created because the request was cancelled or timed out. Try again.',
    InvalidStateError: 'This device already has a passkey for your account.',
    SecurityError: 'Passkeys do not work at this address. Open the server at its configured address.',
  } as Record<string, string>,
} as const

export const sessionWords = {
  about: 'If you do not recognize a session, end it and change your password.',
  here: 'this browser',
  seen: (time: string) => `seen ${agoLabel(time)}`,
  by: (via: string) => `by ${via}`,
  acting: 'an administrator acting as you',
  noAddress: 'unknown address',
  unknown: 'unknown program',
  end: 'End',
  ended: 'The session was ended',
} as const

export const keyWords = {
  about: 'For scripts that call the Web API as you. Agents use tokens instead.',
  tokens: 'Agent tokens',
  create: 'Create a key',
  placeholder: 'deploy script',
  days: 'Expires after',
  inDays: (n: number) => `${n} days`,
  scope: 'Access',
  scopes: { read: 'read', write: 'read and write' },
  once: 'Copy the key now. It is shown only once.',
  secret: 'the key',
  stored: 'I stored it',
  revoke: 'Revoke',
  confirm: (name: string) => `Revoke the key ${name}?`,
  confirmText: 'Programs that use it stop working at once. This cannot be undone.',
} as const

export const grantWords = {
  about: 'Agent programs that signed in with your account. Agents with their own token are listed under',
  tokens: 'Tokens',
  empty: 'No program has signed in yet. Add the server to one, then sign in from there:',
  line: 'tutti connect claude-code',
  by: (host: string) => `by ${host}`,
  unproven: 'name not verified',
  as: (agent: string) => `works as ${agent}`,
  may: (write: boolean) => (write ? 'read and write' : 'read only'),
  end: 'Revoke',
  confirm: (name: string) => `Revoke access for ${name}?`,
  confirmText: 'It loses access at once and its connections close. It can ask for access again.',
  team: 'Others in this team',
  teamAbout: 'As an owner of this team, you can revoke access that its members gave.',
} as const

export const accountWords = {
  about: 'Other accounts you can sign in with.',
  providers: { github: 'GitHub', google: 'Google', oidc: 'single sign-on' },
  connect: (provider: string) => `Connect ${provider}`,
  disconnect: 'Disconnect',
  none: 'This server has no other sign-in methods.',
  failed: {
    access_denied: 'You did not allow access at the provider.',
    'conflict.exists': 'This account is already connected to another user of this server.',
    'forbidden.reauth': 'Sign in again to confirm your identity, then connect the account.',
  } as Record<string, string>,
  failedOther: 'Connecting the account failed. Try again.',
} as const

export const integrationWords = {
  about: 'Code hosts are accessed with your own token. The others receive your notifications.',
  names: {
    github: 'GitHub',
    gitlab: 'GitLab',
    gitea: 'Gitea',
    slack: 'Slack',
    discord: 'Discord',
    webhook: 'Webhook',
  } as Record<string, string>,
  token: 'Access token',
  address: 'Address of the code host',
  hook: 'Address that receives the messages',
  connect: 'Connect',
  replace: 'Replace',
  connected: (last4: string) => `connected, ends in ${last4}`,
  off: 'disabled',
  delivered: (time: string) => `delivered ${agoLabel(time)}`,
  test: 'Send a test',
  tested: 'The test was delivered',
  signingKey: 'Key to verify X-Tutti-Signature. It is shown only once.',
  enable: 'Enable',
  disable: 'Disable',
} as const

export const preferenceWords = {
  theme: 'Theme',
  themes: { light: 'Light', dark: 'Dark', system: 'System' },
  weekStart: 'First day of the week',
  weekStarts: { monday: 'Monday', sunday: 'Sunday' } as Record<string, string>,
  density: 'Density',
  densities: { comfortable: 'Comfortable', compact: 'Compact' } as Record<string, string>,
  presence: 'Show when you are online',
  shortcuts: 'Single-key shortcuts',
  shortcutsHint: 'For example, c creates a task. Shortcuts with Ctrl or ⌘ always work.',
} as const

export const notificationWords = {
  about: 'What reaches you, and how. Security mail is always sent.',
  when: 'When',
  inbox: 'Inbox',
  mail: 'Mail',
  push: 'Push',
  inboxFor: (reason: string) => `${reason}: inbox`,
  mailFor: (reason: string) => `${reason}: mail`,
  pushFor: (reason: string) => `${reason}: push`,
  mails: { off: 'Off', now: 'At once', daily: 'Daily' },
  reasons: {
    question: ['Someone asks you something', 'an agent or a person, in a comment'],
    review: ['A review waits for you', 'a feature is ready for review'],
    mention: ['You are mentioned', 'comment, note, decision'],
    assignment: ['You are assigned', 'by a person or an agent'],
    needs_you: ['Changes are requested', 'in a feature of yours, or its gate is open again'],
    decision: ['A decision waits for you', 'a proposal in your project'],
    freed: ['A task you wait for is done', 'and yours can start'],
    stalled: ['An agent of yours stalls', 'no change for 30 minutes'],
    invite: ['You are invited', 'to a team or a workspace'],
    admin: ['An announcement is made', 'by the administrators of this server'],
    other: ['Something else happens', 'issues, sync conflicts, community, marketplace'],
  },
  pause: 'Pause for…',
  pauses: { hour: 'One hour', day: 'Until tomorrow morning', week: 'One week', month: 'Four weeks' },
  paused: (until: string) => `Mail and push are paused until ${until}. The inbox is not.`,
  resume: 'Resume',
  daily: 'Daily mail',
  sendAt: 'Send at',
  on: 'on',
  days: {
    work: 'work days',
    every: 'every day',
    mon: 'Mondays',
    tue: 'Tuesdays',
    wed: 'Wednesdays',
    thu: 'Thursdays',
    fri: 'Fridays',
    sat: 'Saturdays',
    sun: 'Sundays',
    own: 'chosen days',
  },
  zone: (zone: string) => `Times are in ${zone}.`,
  changeZone: 'Change the time zone',
  empty: 'Nothing is sent on a day with nothing to say.',
  sendNow: 'Send me one now',
  sent: (unread: number) => (unread === 1 ? 'Sent: 1 notification' : `Sent: ${unread} notifications`),
  nothing: 'No mail sent: no notification is waiting for the daily mail',
  noServer: 'This server sends no mail. Your choices apply once its operator sets up a mail server.',
  elsewhere: 'Notifications also go to chats and webhooks:',
  integrations: 'Integrations',
} as const

export const pushWords = {
  title: 'Push notifications',
  about:
    'Receive your notifications in this browser, even while Tutti is closed. They end when you sign out or the session expires.',
  unsupported:
    'This browser cannot receive push notifications at this address. On iPhone and iPad, add Tutti to the home screen first.',
  turnOn: 'Turn on in this browser',
  added: 'Push notifications are on in this browser',
  removed: 'Push notifications were turned off',
  since: (time: string) => `added ${agoLabel(time)}`,
  delivered: (time: string) => `delivered ${agoLabel(time)}`,
  blocked:
    'The browser blocks notifications from this site. Allow them in the settings of the browser, then try again.',
  failed: 'The push service of the browser cannot be reached. Try again later.',
} as const

export const dataWords = {
  export: 'Export',
  exportText: 'Everything that you can see in this team, with comments, links and versions, as JSON lines.',
  download: 'Download',
  downloading: 'Preparing…',
  devices: 'Offline copies',
  devicesText:
    'Devices that you use to work offline. If someone else changed the same field, you choose which change to keep.',
  noDevices: 'None yet. To keep a copy on a computer, run there:',
  devicesLine: 'tutti sync on',
  conflicts: (n: number) => (n === 0 ? 'Conflicts' : `Resolve ${count(n, 'conflict')}`),
  deviceSeen: (time: string) => `seen ${agoLabel(time)}`,
  removeDevice: 'Remove',
  removeOf: (name: string) => `Remove ${name}`,
  removeTitle: (name: string) => `Remove ${name}?`,
  removeText: 'The device is signed out and receives no more changes. Changes that it has not sent stay on the device.',
  delete: 'Delete your account',
  deleteText:
    'Your personal notes, keys, tokens and sessions are deleted permanently. Your content in teams stays, without your name.',
  deleteAct: 'Delete my account…',
  type: (email: string) => `Type ${email} to confirm`,
  deleteForEver: 'Delete permanently',
} as const
