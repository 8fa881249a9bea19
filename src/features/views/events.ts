import { defineEvent, flag, text } from '../../events/catalogue.ts'

const ofView = { kind: 'view', feed: 'none' } as const
const viewData = { name: text, shared: flag }

export const viewCreated = defineEvent('view.created', { ...ofView, description: 'A view was saved', data: viewData })
export const viewUpdated = defineEvent('view.updated', {
  ...ofView,
  description: 'A saved view changed',
  data: viewData,
})
export const viewDeleted = defineEvent('view.deleted', {
  ...ofView,
  deletes: true,
  description: 'A saved view was deleted',
  data: viewData,
})
