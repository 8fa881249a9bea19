import type { Driver } from '../../src/db/driver.ts'

export interface Place {
  organizationId: string
  projectId: string
  userId: string
  agentId: string
}

/**
 * Fills a project with tasks, their events and passages, by SQL: the web API would take an hour. Of the tasks 60 % are
 * done, 30 % can be planned and 5 % are in progress; one in five waits for the one before, one in twenty is a part of
 * another, one in fifty belongs to the agent. Every title has a common word, and one in a thousand a rare one.
 */
export async function fill(driver: Driver, place: Place, tasks: number): Promise<void> {
  const { organizationId, projectId, userId, agentId } = place
  const id = (n: string) => `('00000000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`
  const team = `'${organizationId}', '${projectId}'`
  await driver.exec(`begin;
    alter table tasks disable trigger user;
    alter table task_dependencies disable trigger user;
    insert into epics (id, created_at, updated_at, organization_id, project_id, title, status, priority, position)
      values (${id('1')}, now(), now(), ${team}, 'Epic', 'todo', 'medium', 1);
    insert into stories (id, created_at, updated_at, organization_id, project_id, epic_id, title, status, priority,
        position)
      select ${id('n + 1')}, now(), now(), ${team}, ${id('1')}, 'Story ' || n, 'todo', 'medium', n
      from generate_series(1, ${tasks} / 50 + 1) n;
    insert into tasks (id, created_at, updated_at, organization_id, project_id, story_id, parent_id, number, title,
        description, status, priority, position, labels, acceptance, assignee_type, assignee_id, completed_at)
      select ${id('n + 1000000')}, now() - n * interval '1 minute', now() - (n * 7919 % ${tasks}) * interval '1 minute',
        ${team}, ${id('n / 50 + 2')}, case when n % 20 = 19 then ${id('n - 1 + 1000000')} end, n,
        'Check the common part ' || n || case when n % 1000 = 0 then ' zebra' else '' end,
        'What it is about, number ' || n, case when n % 20 < 12 then 'done' when n % 20 = 13 then 'in_progress'
          when n % 20 = 14 then 'backlog' else 'todo' end,
        (array['low', 'medium', 'high', 'critical'])[1 + n * 7 % 4], n, '{}', '[]',
        case when n % 50 = 18 then 'agent' end, case when n % 50 = 18 then '${agentId}'::uuid end,
        case when n % 20 < 12 then now() - n * interval '1 minute' end
      from generate_series(1, ${tasks}) n;
    insert into task_dependencies (task_id, blocked_by_id, kind, created_at)
      select t.id, b.id, 'blocks', now() from tasks t
        join tasks b on b.project_id = t.project_id and b.number = t.number - 1
      where t.project_id = '${projectId}' and t.number % 5 = 1;
    insert into events (id, at, type, action, actor_kind, actor_id, actor_name, organization_id, project_id, subject_id,
        data, request_id, origin)
      select gen_random_uuid(), now() - number * interval '1 minute', 'task.completed', 'tasks.complete', 'session',
        '${userId}', 'Ada', organization_id, project_id, id, '{}', 'bench', gen_random_uuid()
      from tasks order by number desc;
    -- Numbers follow the time: what set the bench up is newer.
    update events set seq = nextval('events_seq_seq') where request_id <> 'bench';
    insert into passages (id, kind, record_id, organization_id, project_id, chunk, title, content, tags, importance, at)
      select gen_random_uuid(), 'task', id, organization_id, project_id, 0, title, description, '{}', 0.5, updated_at
      from tasks;
    alter table tasks enable trigger user;
    alter table task_dependencies enable trigger user;
    analyze tasks, task_dependencies;
    select tasks_recount(array(select id from tasks));
    select task_counts_mend();
    select task_days_mend();
    update projects set last_number = ${tasks} where id = '${projectId}';
    commit;`)
  await driver.exec('vacuum analyze')
}
