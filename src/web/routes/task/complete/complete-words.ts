/** Words of the popover that completes a task; it loads without the words of the page. */
const list = new Intl.ListFormat('en')

export const words = {
  label: (key: string) => `Complete ${key}`,
  heldBy: (name: string, time: string) => `${name} has held it for ${time}`,
  openCriteria: (open: number, all: number) => `${open} of ${all} criteria ${open === 1 ? 'is' : 'are'} open`,
  openParts: (open: number, all: number) => `${open} of ${all} sub-tasks ${open === 1 ? 'is' : 'are'} open`,
  completing: (frees: readonly { key: string }[], holder: string | undefined) => {
    const parts = [
      frees.length > 0 && `unblocks ${list.format(frees.map(({ key }) => key))}`,
      holder && `ends the claim of ${holder}`,
    ].filter((part) => typeof part === 'string')
    return [parts.length > 0 && `Completing ${list.format(parts)}.`, 'You can undo it for an hour.']
      .filter(Boolean)
      .join(' ')
  },
  tickAndComplete: (open: number) =>
    open > 2 ? 'Tick all and complete' : `Tick ${open === 1 ? 'it' : 'both'} and complete`,
  completeAnyway: 'Complete anyway',
}
