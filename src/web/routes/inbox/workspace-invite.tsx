import { useQuery } from '@tanstack/react-query'
import { InviteAnswer, InviteText } from '../workspace-invite/answer.tsx'
import { workspaceInviteQuery } from '../workspace-invite/queries.ts'
import { type AboutProps, Loaded } from './about.tsx'
import { Heading } from './heading.tsx'

export function WorkspaceInvitePreview({ notification, id, onSettled }: AboutProps) {
  return (
    <Loaded found={useQuery(workspaceInviteQuery(id))}>
      {(invite) => (
        <>
          <div className="inbody stack s4">
            <Heading notification={notification} title={invite.workspace.name} />
            <InviteText invite={invite} />
          </div>
          <footer className="inact">
            <InviteAnswer invite={invite} onSettled={onSettled} />
          </footer>
        </>
      )}
    </Loaded>
  )
}
