import { useQuery } from '@tanstack/react-query'
import { InvitationForm, InviteText } from '../workspace-invite/answer.tsx'
import { workspaceInviteQuery } from '../workspace-invite/queries.ts'
import { PreviewHeading } from './heading.tsx'
import { LoadedRecord, type PreviewProps } from './preview-parts.tsx'

export function WorkspaceInvitePreview({ notification, id, onSettled }: PreviewProps) {
  return (
    <LoadedRecord found={useQuery(workspaceInviteQuery(id))}>
      {(invite) => (
        <>
          <div className="inbody stack s4">
            <PreviewHeading notification={notification} title={invite.workspace.name} />
            <InviteText invite={invite} />
          </div>
          <footer className="inact">
            <InvitationForm invite={invite} onSettled={onSettled} />
          </footer>
        </>
      )}
    </LoadedRecord>
  )
}
