import { define, flag, text } from '../../events/catalogue.ts'

const ofView = { kind: 'view', feed: 'none' } as const
const data = { name: text, shared: flag }

export const viewCreated = define('view.created', { ...ofView, description: 'A view was saved', data })
export const viewUpdated = define('view.updated', { ...ofView, description: 'A saved view changed', data })
export const viewDeleted = define('view.deleted', {
  ...ofView,
  deletes: true,
  description: 'A saved view was deleted',
  data,
})
