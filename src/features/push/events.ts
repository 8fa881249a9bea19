import { defineEvent } from '../../events/catalogue.ts'

const ofSubscription = { kind: 'push_subscription', feed: 'access' } as const

export const pushSubscribed = defineEvent('push_subscription.created', {
  ...ofSubscription,
  description: 'A user turned on push notifications in a browser',
  words: () => 'turned on push notifications in a browser',
})
export const pushUnsubscribed = defineEvent('push_subscription.deleted', {
  ...ofSubscription,
  deletes: true,
  description: 'A browser no longer receives push notifications',
  words: () => 'turned off push notifications in a browser',
})
