import { command } from '../../control/command.ts'
import type { AuditPage, AuditQuery } from './schema.ts'

export const auditCommand = command<AuditQuery, AuditPage>('admin.audit')
