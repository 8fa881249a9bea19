/** THE TABLE OF CONTENTS: one line a feature, written by hand. Nothing is discovered. */
export { accounts } from './accounts/index.ts'
export { manual } from './manual/index.ts'
export { notes } from './notes/index.ts'
export { organizations } from './organizations/index.ts'
export { planning } from './planning/index.ts'
export { projects } from './projects/index.ts'
export { tokens } from './tokens/index.ts'
export { upkeep } from './upkeep/index.ts'
