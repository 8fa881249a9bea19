import { count } from '../words.ts'

export const words = {
  offlineSince: (time: string) => `Offline since ${time}`,
  loadedAt: (time: string) => `Loaded at ${time}`,
  waiting: (n: number) => `${count(n, 'change')} ${n === 1 ? 'waits' : 'wait'}`,
  editsWait: 'edits of tasks wait here',
  notReloaded: 'This page could not be loaded again.',
  loseAll: (n: number) => `${count(n, 'change')} ${n === 1 ? 'is' : 'are'} not saved yet and will be lost. Sign out?`,
  full: (most: number, room: number) =>
    room > 0
      ? `Without a connection, ${most} changes can wait. There is room for ${room} more.`
      : `${most} changes wait already. You can change more when the connection is back.`,
  sent: (n: number) => `${count(n, 'waiting change')} sent`,
  conflict: 'Someone else changed this first. Your change was not saved.',
  otherUser: 'Another user made this change, so it cannot be sent.',
  sessionEnded: 'Your session has ended',
  signInElsewhere: 'Sign in again in another tab. The changes that wait here are then sent.',
  signIn: 'Sign in',
  maybeSent: 'The server may already have this change. You can undo it when the connection is back.',
  changed: (key: string, change: string) => `${key}: ${change}`,
  fields: {
    title: (title: string) => `title “${title}”`,
    description: 'description',
    acceptance: 'acceptance criteria',
    status: (name: string) => `state ${name}`,
    order: 'order',
  },
  comment: 'comment',
  refused: (n: number) => (n === 1 ? '1 change was not saved' : `${n} changes were not saved`),
  discard: 'Discard',
  tryOne: (title: string) => `Try again: ${title}`,
  discardOne: (title: string) => `Discard: ${title}`,
} as const
