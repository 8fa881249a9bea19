export const words = {
  conflict: 'Edit conflict',
  merged: 'Saved together with a change of someone else',
  draftKept: 'Draft saved on this device',
  saving: 'Saving…',
  agent: 'agent',
  save: 'Save',
  cancel: 'Cancel',
  files: 'Files',
  removeFile: (name: string) => `Delete ${name}`,
  attach: 'Attach files',
  drop: 'Paste or drop',
} as const
