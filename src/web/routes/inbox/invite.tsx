import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Notification, Subject } from '../../../features/notifications/schema.ts'
import { invites, ok, writeOptions } from '../../api.ts'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { PreviewHeading } from './heading.tsx'
import { words } from './words.ts'

interface Props {
  notification: Notification
  invite: Subject
  onSettled(): void
}

export function InvitePreview({ notification, invite, onSettled }: Props) {
  const cache = useQueryClient()
  const respond = useMutation({
    mutationFn: async (accepts: boolean): Promise<void> => {
      const one = invites.invites({ token: invite.id })
      await ok<unknown>(accepts ? one.accept.post({}, writeOptions()) : one.decline.post({}, writeOptions()))
    },
    onSuccess: (_, accepts) => {
      toast({ title: accepts ? words.joined(invite.title) : words.declined })
      onSettled()
    },
    onSettled: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: ['teams'] }),
        cache.invalidateQueries({ queryKey: ['notifications'] }),
      ]),
  })
  return (
    <>
      <div className="inbody stack s4">
        <PreviewHeading notification={notification} title={invite.title} />
        <p>{words.inviteText(invite.title)}</p>
      </div>
      <footer className="inact">
        {respond.error && <ProblemBox error={respond.error} />}
        <span className="grow" />
        <button type="button" className="btn" disabled={respond.isPending} onClick={() => respond.mutate(false)}>
          {words.decline}
        </button>
        <button type="button" className="btn main" disabled={respond.isPending} onClick={() => respond.mutate(true)}>
          {words.join}
        </button>
      </footer>
    </>
  )
}
