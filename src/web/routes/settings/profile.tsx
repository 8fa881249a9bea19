import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import type { Invite } from '../../../features/invites/schema.ts'
import { meQuery } from '../../account/session.ts'
import { invites, ok } from '../../api.ts'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { PicturePicker } from '../../components/form/picture-picker.tsx'
import { Section } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { Form, ItemList, SettingsSheet } from './parts.tsx'
import { savePicture, saveProfile, useAccountChange, useSettingsChange } from './queries.ts'
import { titles, profileWords as w, words } from './words.ts'

export function Settings() {
  const me = useSuspenseQuery(meQuery).data
  const save = useAccountChange(saveProfile(me.version))
  return (
    <SettingsSheet title={titles.profile}>
      <Invitations />
      <Picture />
      <Form
        verb={words.save}
        busy={save.isPending}
        error={save.error}
        done={save.isSuccess ? words.saved : undefined}
        onSave={({ name = '', handle = '', bio, timezone, locale }) =>
          save.mutate({
            name: name.trim(),
            handle: handle.trim(),
            bio: bio || null,
            timezone: timezone || null,
            locale: locale || null,
          })
        }
      >
        <Field label={words.name} name="name" defaultValue={me.name} required maxLength={100} autoComplete="name" />
        <Field
          label={w.handle}
          hint={w.handleHint}
          name="handle"
          defaultValue={me.handle}
          required
          maxLength={63}
          pattern="[a-z0-9](-?[a-z0-9])*"
        />
        <TextArea label={w.bio} name="bio" rows={3} maxLength={2000} defaultValue={me.bio ?? ''} />
        <Field label={w.timezone} name="timezone" defaultValue={me.timezone ?? ''} placeholder="Europe/Berlin" />
        <Field label={w.locale} name="locale" defaultValue={me.locale ?? ''} placeholder="de-DE" />
      </Form>
    </SettingsSheet>
  )
}

function Picture() {
  const me = useSuspenseQuery(meQuery).data
  const save = useAccountChange(savePicture)
  return (
    <Section title={w.picture}>
      <div className="row">
        {me.avatarUrl && <img className="portrait" src={me.avatarUrl} alt="" width={48} height={48} />}
        <PicturePicker label={w.choosePicture} busy={save.isPending} onFile={save.mutate} />
        {me.avatarUrl && (
          <button type="button" className="btn quiet" disabled={save.isPending} onClick={() => save.mutate(null)}>
            {w.removePicture}
          </button>
        )}
      </div>
      {save.error && <ProblemBox error={save.error} />}
    </Section>
  )
}

/** Invitations to teams, which wait for an answer. */
function Invitations() {
  const cache = useQueryClient()
  const { data, error } = useQuery({
    queryKey: ['settings', 'invites'],
    queryFn: async () => (await ok(invites.invites.get({ query: {} }))).items,
  })
  const settle = useSettingsChange(
    async ({ invite, verb }: { invite: Invite; verb: 'accept' | 'decline' }): Promise<void> => {
      const one = invites.invites({ token: invite.id })
      await ok<unknown>(verb === 'accept' ? one.accept.post() : one.decline.post())
    },
    (_, { invite, verb }) => {
      toast({ title: verb === 'accept' ? w.accepted(invite.organization.name) : w.declined })
      void cache.invalidateQueries({ queryKey: ['teams'] })
    },
  )
  if (!data || data.length === 0) return null
  return (
    <Section title={w.invites} n={data.length}>
      {settle.error && <ProblemBox error={settle.error} />}
      <ItemList
        items={data}
        error={error}
        label={w.invites}
        item={(invite) => (
          <>
            <span className="grow">{w.invited(invite.invitedBy?.name, invite.organization.name, invite.role)}</span>
            {(['decline', 'accept'] as const).map((verb) => (
              <button
                key={verb}
                type="button"
                className="btn small"
                disabled={settle.isPending}
                onClick={() => settle.mutate({ invite, verb })}
              >
                {w[verb]}
              </button>
            ))}
          </>
        )}
      />
    </Section>
  )
}
