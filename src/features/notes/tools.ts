import { expectedVersion, listing, pick, tool } from '../../mcp/tool.ts'
import { array, object, optional, text, time, title } from '../../schema.ts'
import { NoteCreate } from './schema.ts'
import * as notes from './service.ts'

const note = text(100, { minLength: 1, description: 'Id, slug or id prefix' })
const { content, tags, links } = NoteCreate.properties

export const noteTools = [
  tool({
    name: 'create_note',
    title: 'Create note',
    description:
      'Create a markdown note for the team: how something works, findings. For short facts use store_memory.',
    toolset: 'notes',
    input: object({
      title: title(200),
      content,
      tags,
      links,
      project: optional(text(100, { description: 'Id or slug' })),
    }),
    action: notes.create,
    with: ({ project, ...rest }) => ({ ...rest, projectId: project }),
    show: (note) => pick(note, 'slug', 'version'),
  }),
  tool({
    name: 'list_notes',
    title: 'List notes',
    description: 'List notes without content by tag, words or date of change, newest first.',
    toolset: 'notes',
    input: object({
      tag: optional(text(50)),
      search: optional(text(200, { description: 'Words that all must occur' })),
      since: optional(time()),
      until: optional(time()),
      ...listing,
    }),
    action: notes.list,
    with: (input) => ({ limit: 20, ...input, total: true }),
    whole: (ctx, { id }) => notes.detail(ctx, { ref: id }),
  }),
  tool({
    name: 'update_note',
    title: 'Update note',
    description: 'Change only the given fields of a note. Content replaces the whole text.',
    toolset: 'notes',
    input: object({
      note,
      content,
      title: optional(title(200)),
      tags: optional(array(title(50), 50, { uniqueItems: true })),
      links,
      expectedVersion,
    }),
    action: notes.update,
    with: ({ note, expectedVersion: _, ...patch }) => ({ ref: note, ...patch }),
    show: (note) => pick(note, 'slug', 'version'),
  }),
  tool({
    name: 'delete_note',
    title: 'Delete note',
    description: 'Delete a note. It can be restored for 30 days.',
    toolset: 'notes',
    input: object({ note }),
    action: notes.remove,
    with: ({ note }) => ({ ref: note }),
  }),
  tool({
    name: 'get_note',
    title: 'Get note',
    description: 'Get a note with its content and the notes that link to it.',
    toolset: 'notes',
    input: object({ note }),
    action: notes.detail,
    with: ({ note }) => ({ ref: note }),
  }),
]
