import { expectedVersion, listing, note, project, query, since, tags, until } from '../../mcp/arguments.ts'
import { pick, tool } from '../../mcp/tool.ts'
import { array, object, optional, text, title } from '../../schema.ts'
import { CONTENT_BYTES, NoteCreate } from './schema.ts'
import * as notes from './service.ts'

const { links } = NoteCreate.properties
/** The tool also accepts link objects, but strings are enough for agents. */
const listedAs = { links: array(text(2000), 100, { description: 'URLs, keys or ids of records' }) }
const content = optional(text(CONTENT_BYTES))

export const noteTools = [
  tool({
    name: 'create_note',
    title: 'Create note',
    description:
      'Create a Markdown note for the team: how something works, findings; [[Title]] links notes. Short facts: store_memory.',
    toolset: 'notes',
    input: object({
      title: title(200),
      content,
      tags,
      links,
      project: optional(project),
    }),
    listedAs,
    action: notes.create,
    with: ({ project, ...rest }) => ({ ...rest, projectId: project }),
    show: (note) => pick(note, 'slug', 'version'),
  }),
  tool({
    name: 'list_notes',
    title: 'List notes',
    description: 'List notes without content, by tags, words or date of change.',
    toolset: 'notes',
    input: object({
      query,
      tags,
      project: optional(project),
      since,
      until,
      ...listing,
    }),
    action: notes.list,
    with: ({ query, project, ...input }) => ({
      limit: 20,
      ...input,
      search: query,
      projectId: project,
      mustExist: true,
      total: true,
    }),
    whole: (ctx, { id }) => notes.detail(ctx, { ref: id }),
  }),
  tool({
    name: 'update_note',
    title: 'Update note',
    description: 'Change a note. content replaces the whole text.',
    toolset: 'notes',
    input: object({
      note,
      content,
      title: optional(title(200)),
      tags,
      links,
      expectedVersion: optional(expectedVersion),
    }),
    listedAs,
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
