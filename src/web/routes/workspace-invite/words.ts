export const words = {
  title: 'Invitation to a workspace',
  inbox: 'Inbox',
  text: (workspace: string, from: string) =>
    `${from} invites one of your teams to share the workspace ${workspace}. Nothing happens before you accept.`,
  roles: {
    owner: 'Your team can read, write and manage the workspace.',
    editor: 'Your team can read and write in the workspace.',
    viewer: 'Your team can read the projects in the workspace.',
  },
  consequence:
    'Members of your team see the projects in the workspace. The other teams see the projects that your team adds.',
  by: (name: string, day: string) => `Sent by ${name}. Expires on ${day}.`,
  team: 'Team that joins',
  choose: 'Choose a team',
  accept: 'Accept',
  decline: 'Decline',
  joined: (team: string, workspace: string) => `${team} joined ${workspace}`,
  declined: 'Invitation declined',
  status: {
    pending: 'Pending',
    accepted: 'This invitation was accepted.',
    declined: 'This invitation was declined.',
    cancelled: 'This invitation was cancelled.',
    expired: 'This invitation has expired. Ask the team that sent it for a new one.',
  },
  open: 'Open the workspace',
} as const
