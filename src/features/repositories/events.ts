import { defineEvent, number, text } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

const ofRepository = {
  kind: 'repository',
  line: 'code',
  data: { name: text, url: text, status: text, version: number },
} as const

export const repositoryConnected = defineEvent('repository.connected', {
  ...ofRepository,
  description: 'A repository was connected',
})
export const repositorySynced = defineEvent('repository.synced', {
  ...ofRepository,
  description: 'A repository was read from its code host',
})
export const repositoryFailed = defineEvent('repository.failed', {
  ...ofRepository,
  description: 'A repository could not be read',
  words: (what) => `could not sync ${what}`,
})
export const repositoryRemoved = defineEvent('repository.removed', {
  ...ofRepository,
  description: 'A repository was disconnected',
})

/** The subject is the repository. */
const ofPull = {
  kind: 'pull_request',
  line: 'code',
  scope: 'repos:read',
  data: { url: text, number, title: text, featureId: optional(text) },
} as const

export const pullRequestOpened = defineEvent('pull_request.opened', {
  ...ofPull,
  description: 'A pull request was opened',
})
export const pullRequestFound = defineEvent('pull_request.found', {
  ...ofPull,
  description: 'A pull request that was open already was linked',
})
