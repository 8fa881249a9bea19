import { restorableNames } from '../../records/names.ts'
import { ActorSummary } from '../../records/user-or-agent.ts'
import { id, instant, int, nullable, object, oneOf, optional, pageOf, paging, type Static, text } from '../../schema.ts'

export const Trashed = object({
  kind: oneOf(restorableNames),
  id: id(),
  title: text(300, { example: 'Lock the data folder' }),
  projectId: nullable(id()),
  version: int({ example: 3 }),
  path: text(300, {
    description: 'Its path. `POST /api{path}/restore` restores it',
    example: '/tasks/019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10',
  }),
  deletedAt: instant(),
  deletedBy: ActorSummary,
  restorableUntil: instant({ description: 'Until when you can restore it' }),
})
export type Trashed = Static<typeof Trashed>

const { sort: _, order: __, total: ___, ...pages } = paging('deletedAt')
export const TrashQuery = object({ ...pages, kind: optional(oneOf(restorableNames)) })
export type TrashQuery = Static<typeof TrashQuery>
export const TrashPage = pageOf(Trashed)
export type TrashPage = Static<typeof TrashPage>
