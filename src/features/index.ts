// biome-ignore-all assist/source/organizeImports: features are listed by layer, from the lowest up
/**
 * THE TABLE OF CONTENTS: one line per feature, written by hand. Nothing is discovered.
 *
 * Features form layers: a feature imports only features that are listed above it here (test/architecture.test.ts checks
 * this). Where a lower feature needs an upper one, it declares a hook that the upper one handles (src/hooks.ts).
 */

// ---- people
export { users } from './users/index.ts'
export { mail } from './mail/index.ts'
export { settings } from './settings/index.ts'
export { organizations } from './organizations/index.ts'
export { notifications } from './notifications/index.ts'
export { integrations } from './integrations/index.ts'
export { accounts } from './accounts/index.ts'
export { push } from './push/index.ts'
export { invites } from './invites/index.ts'
export { codes } from './codes/index.ts'
export { passkeys } from './passkeys/index.ts'
export { oauth } from './oauth/index.ts'
export { devices } from './devices/index.ts'
export { uploads } from './uploads/index.ts'
export { issues } from './issues/index.ts'

// ---- ground
export { workspaces } from './workspaces/index.ts'
export { projects } from './projects/index.ts'
export { stories } from './stories/index.ts'
export { skills } from './skills/index.ts'
export { search } from './search/index.ts'
export { links } from './links/index.ts'
export { views } from './views/index.ts'

// ---- work
export { connections } from './connections/index.ts'
export { agents } from './agents/index.ts'
export { tokens } from './tokens/index.ts'
export { grants } from './grants/index.ts'
export { tasks } from './tasks/index.ts'
export { changes } from './changes/index.ts'
export { planning } from './planning/index.ts'
export { specs } from './specs/index.ts'
export { workflow } from './workflow/index.ts'

// ---- knowledge
export { decisions } from './decisions/index.ts'
export { notes } from './notes/index.ts'
export { attachments } from './attachments/index.ts'
export { memory } from './memory/index.ts'
export { activity } from './activity/index.ts'
export { sessions } from './sessions/index.ts'
export { repositories } from './repositories/index.ts'

// ---- overview
export { onboarding } from './onboarding/index.ts'
export { home } from './home/index.ts'
export { manual } from './manual/index.ts'
export { trash } from './trash/index.ts'
export { teams } from './teams/index.ts'
export { now } from './now/index.ts'
export { hub } from './hub/index.ts'
export { tunnels } from './tunnels/index.ts'
export { backups } from './backups/index.ts'
export { sync } from './sync/index.ts'
export { transfer } from './transfer/index.ts'
export { assistant } from './assistant/index.ts'
export { upkeep } from './upkeep/index.ts'
export { site } from './site/index.ts'
export { sponsors } from './sponsors/index.ts'
export { contact } from './contact/index.ts'
export { community } from './community/index.ts'
export { marketplace } from './marketplace/index.ts'
export { tracker } from './tracker/index.ts'
export { admin } from './admin/index.ts'
