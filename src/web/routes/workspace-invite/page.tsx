/** An invitation of the reader's teams to a workspace of another team. The link in its mail leads here. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useCrumbs } from '../../crumbs.ts'
import { InvitationForm, InviteText } from './answer.tsx'
import { workspaceInviteQuery } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/workspace-invites/$id')

export function WorkspaceInvitePage() {
  const { id } = route.useParams()
  const { data: invite } = useSuspenseQuery(workspaceInviteQuery(id))
  useCrumbs({ label: words.inbox, to: '/inbox' }, { label: words.title })
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header className="phead">
          <h1 className="h1">{invite.workspace.name}</h1>
          <p className="soft">{words.title}</p>
        </header>
        <div className="stack measure">
          <InviteText invite={invite} />
        </div>
        <div className="measure">
          <InvitationForm invite={invite} />
        </div>
        {invite.status === 'accepted' && (
          <p>
            <Link className="btn" to="/workspaces/$id" params={{ id: invite.workspace.id }}>
              {words.open}
            </Link>
          </p>
        )}
      </div>
    </div>
  )
}
