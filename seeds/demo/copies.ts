import { newId } from '../../src/db/columns.ts'
import { registerDevice, SCHEMA } from '../../src/features/sync/devices.ts'
import { push } from '../../src/features/sync/push.ts'
import { ago, minutesAgo, type Step } from './script.ts'

const before = `- [ ] Two hours in flight mode on three phones
- [ ] Upgrade from the oldest version that is still in use
- [ ] Pictures in both themes
- [ ] Release notes, with the skill *Write release notes*
- [ ] Harbour first ([[How Harbour is run]])`

/** Ada's laptop keeps a copy. On a journey she changed two notes that Chiara had changed and deleted meanwhile. */
export const copySteps: Step[] = [
  {
    at: ago(16, '18:20'),
    by: 'ada',
    run: async (ctx, stage) => {
      const { deviceId } = await registerDevice(ctx, { name: 'Ada’s laptop', platform: 'linux x64', schema: SCHEMA })
      stage.keep('device', deviceId)
    },
  },
  {
    at: minutesAgo(64),
    by: 'ada',
    run: (ctx, { id }) =>
      push(ctx, {
        deviceId: id('device'),
        mutations: [
          {
            mutationId: newId(),
            entity: 'note',
            id: id('note Release checklist'),
            op: 'upsert',
            base: { content: before },
            fields: { content: before.replace('- [ ] Harbour', '- [ ] Tell Riverbank a day before\n- [ ] Harbour') },
          },
          {
            mutationId: newId(),
            entity: 'note',
            id: id('note Names we did not choose'),
            op: 'upsert',
            base: { content: 'Candle, Beacon, Shelfmark, Bookworm (taken), Lampion.' },
            fields: { content: 'Candle, Beacon, Shelfmark, Bookworm (taken), Lampion, Pharos.' },
          },
        ],
      }),
  },
]
