/** The active keyboard shortcuts, and the switch for single-key shortcuts. */
import { useQueryClient } from '@tanstack/react-query'
import { meQuery } from '../account/session.ts'
import { accounts, ok } from '../api.ts'
import { Dialog } from '../components/form/dialog.tsx'
import { Kbd } from '../components/status-bar.tsx'
import { toast } from '../components/toasts.tsx'
import { type Command, keyLabels, setShortcutsEnabled, useActiveCommands, useShortcutsEnabled } from '../shortcuts.ts'
import { words } from '../words.ts'

export function ShortcutList({ onClose }: { onClose(): void }) {
  const working = useActiveCommands().filter(({ keys, label }) => keys && label)
  const on = useShortcutsEnabled()
  const cache = useQueryClient()
  const change = async () => {
    const shortcuts = on ? 'off' : 'on'
    setShortcutsEnabled(!on)
    try {
      await ok(accounts.settings.preferences.patch({ shortcuts }))
      await cache.invalidateQueries(meQuery)
    } catch (error) {
      setShortcutsEnabled(on)
      toast({ title: error instanceof Error ? error.message : String(error), bad: true })
    }
  }
  const isGlobal = ({ scope }: Command) => scope === 'global'
  return (
    <Dialog title={words.keys.title} open onClose={onClose}>
      <Group title={words.keys.here} commands={working.filter((command) => !isGlobal(command))} />
      <Group title={words.keys.everywhere} commands={working.filter(isGlobal)} />
      <p className="row t12 soft">
        <span className="grow">{!on && words.keys.off}</span>
        <button type="button" className="btn small" onClick={() => void change()}>
          {on ? words.keys.turnOff : words.keys.turnOn}
        </button>
      </p>
    </Dialog>
  )
}

const Group = ({ title, commands }: { title: string; commands: readonly Command[] }) =>
  commands.length > 0 && (
    <section className="stack s1">
      <h3 className="h3">{title}</h3>
      <dl className="keylist">
        {commands.map(({ keys = '', label }) => (
          <div key={keys} className="row">
            <dt className="grow">{label}</dt>
            <dd className="row tight">
              {keyLabels(keys).map((cap, place) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a key may be there twice, and the list never changes
                <Kbd key={place}>{cap}</Kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
