import { useQuery } from '@tanstack/react-query'
import type { PushSubscription as Device } from '../../../features/push/schema.ts'
import { ok, push } from '../../api.ts'
import { Section } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { ago } from '../../lib/times.ts'
import { browserName } from './browser-name.ts'
import { ItemLine, ItemList } from './parts.tsx'
import { pushDevicesQuery, pushQuery, useSettingsChange } from './queries.ts'
import { sessionWords, pushWords as w, words } from './words.ts'

const isSupported = () => 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window

/** Ends the subscription of this browser at its push service. */
async function unsubscribeHere(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration()
  await (await registration?.pushManager.getSubscription())?.unsubscribe()
}

/** Asks the person, then the push service of the browser, and gives its address to the server. */
async function subscribeHere(applicationServerKey: string): Promise<Device> {
  if ((await Notification.requestPermission()) !== 'granted') throw new Error(w.blocked)
  const { pushManager } = await navigator.serviceWorker.ready
  // One of an earlier sign-in, or for another key.
  await unsubscribeHere()
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey }).catch(() => {
    throw new Error(w.failed)
  })
  const { endpoint = '', keys: { p256dh = '', auth = '' } = {} } = subscription.toJSON()
  return ok(push.push.subscriptions.post({ endpoint, keys: { p256dh, auth } }))
}

async function remove({ id, current }: Device): Promise<void> {
  await ok(push.push.subscriptions({ id }).delete())
  if (current) await unsubscribeHere()
}

const nameOf = ({ userAgent }: Device): string => browserName(userAgent ?? sessionWords.unknown)

/** Shown only if the operator has turned push notifications on. */
export function Push() {
  const { data: status } = useQuery(pushQuery)
  return status?.publicKey ? <Devices publicKey={status.publicKey} /> : null
}

function Devices({ publicKey }: { publicKey: string }) {
  const { data, error } = useQuery(pushDevicesQuery)
  const add = useSettingsChange(subscribeHere, () => toast({ title: w.added }))
  const end = useSettingsChange(remove, () => toast({ title: w.removed }))
  const failed = add.error ?? end.error
  const isOn = data?.some(({ current }) => current)
  return (
    <Section title={w.title}>
      <div className="stack s3">
        <p className="soft">{isSupported() ? w.about : w.unsupported}</p>
        {failed && <ProblemBox error={failed} />}
        <ItemList
          items={data}
          error={error}
          label={w.title}
          item={(device) => (
            <>
              <ItemLine
                name={nameOf(device)}
                facts={[
                  device.current ? sessionWords.here : w.since(ago(device.createdAt)),
                  device.lastOkAt && w.delivered(ago(device.lastOkAt)),
                ]}
              />
              <button
                type="button"
                className="btn small"
                aria-label={`${words.remove} ${nameOf(device)}`}
                disabled={end.isPending}
                onClick={() => end.mutate(device)}
              >
                {words.remove}
              </button>
            </>
          )}
        />
        {isSupported() && isOn === false && (
          <p>
            <button type="button" className="btn main" disabled={add.isPending} onClick={() => add.mutate(publicKey)}>
              {w.turnOn}
            </button>
          </p>
        )}
      </div>
    </Section>
  )
}
