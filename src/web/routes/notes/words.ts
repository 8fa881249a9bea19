export const words = {
  title: 'Notes',
  newNote: 'New note',
  find: 'Find in notes',
  scopes: { personal: 'Only you', team: 'Team', public: 'Public' },
  who: 'Seen by',
  project: 'Project',
  tag: 'tag',
  pinned: 'Pinned',
  none: 'No notes yet',
  noneText:
    'A note explains how something works. Agents write notes with create_note. [[Title]] links to another note.',
  command: 'tutti notes create "How we deploy"',
  noMatch: 'No note matches these filters.',
  noteTitle: 'Title',
  whose: 'Who sees it',
  noProject: 'No project',
  create: 'Create and write',
} as const
