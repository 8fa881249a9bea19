import { desc, eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { NO_USER_ID } from '../../auth/actor.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { isOpen, notifications } from '../notifications/table.ts'
import { memberships } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'
import { visibleTo } from './rows.ts'
import { taskComments, tasks } from './table.ts'

/** An unanswered question about a task. */
interface OpenQuestion {
  key: string
  body: string
  author: string
  asked: string
  /** Whether the caller's person was asked. */
  isMine: boolean
}

const MOST_QUESTIONS = 10

/**
 * Returns the open questions: first those to the caller's person in any project, then all others of the project. A
 * question is open while the notification of the person who was asked is: both were written at the same time.
 */
export async function findOpenQuestions(ctx: Ctx, project?: Place): Promise<OpenQuestion[]> {
  const isMine = eq(notifications.userId, ctx.actor.userId ?? NO_USER_ID)
  return ctx.db
    .select({
      key: sql<string>`${projects.key} || '-' || ${tasks.number}`,
      body: taskComments.body,
      author: taskComments.authorName,
      asked: users.name,
      isMine: sql<boolean>`${isMine}`,
    })
    .from(notifications)
    .innerJoin(tasks, eq(tasks.id, notifications.recordId))
    .innerJoin(projects, eq(projects.id, tasks.projectId))
    .innerJoin(taskComments, and(eq(taskComments.taskId, tasks.id), isSameMoment, taskComments.asks))
    .innerJoin(users, eq(users.id, notifications.userId))
    .where(
      and(
        // Matches the conditions of the index.
        isOpen(notifications),
        or(isMine, project && isMember(project)),
        eq(notifications.reason, 'question'),
        eq(notifications.recordKind, 'task'),
        or(isMine, project && eq(tasks.projectId, project.id)),
        visibleTo(rightsOf(ctx.actor)),
      ),
    )
    .orderBy(desc(isMine), desc(notifications.createdAt), desc(notifications.id))
    .limit(MOST_QUESTIONS)
}

interface Place {
  id: string
  organizationId: string
}

const isSameMoment = eq(taskComments.createdAt, notifications.createdAt)
const isMember = ({ organizationId }: Place): SQL =>
  sql`${notifications.userId} in (select ${memberships.userId} from ${memberships}
    where ${memberships.organizationId} = ${organizationId})`
