import { outlineChange } from '../stories/sync.ts'
import { removeEpic, removeStory, restoreEpic, restoreStory } from './deletion.ts'

/** Deletes and restores epics and stories for the sync of devices. */
export const changeOutline = outlineChange.handle(async (ctx, { change, ...outline }) => {
  if (outline.of === 'epic') await (change === 'remove' ? removeEpic : restoreEpic)(ctx, outline.path)
  else await (change === 'remove' ? removeStory : restoreStory)(ctx, outline.path)
})
