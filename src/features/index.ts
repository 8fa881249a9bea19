/** THE TABLE OF CONTENTS: one line a feature, written by hand. Nothing is discovered. */

// People and access
export { accounts } from './accounts/index.ts'
export { admin } from './admin/index.ts'
export { agents } from './agents/index.ts'
export { devices } from './devices/index.ts'
export { integrations } from './integrations/index.ts'
export { invites } from './invites/index.ts'
export { issues } from './issues/index.ts'
export { mail } from './mail/index.ts'
// The instance
export { manual } from './manual/index.ts'
export { notes } from './notes/index.ts'
export { notifications } from './notifications/index.ts'
export { oauth } from './oauth/index.ts'
export { organizations } from './organizations/index.ts'
export { passkeys } from './passkeys/index.ts'
export { planning } from './planning/index.ts'
// Planning and knowledge
export { projects } from './projects/index.ts'
export { skills } from './skills/index.ts'
export { tokens } from './tokens/index.ts'
export { upkeep } from './upkeep/index.ts'
export { uploads } from './uploads/index.ts'
export { workflow } from './workflow/index.ts'
export { workspaces } from './workspaces/index.ts'
