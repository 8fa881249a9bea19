-- What a task adds to the days of its project: to the scope of the day it was created, and to what was done on the day
-- it was completed. Where nobody stored who completed it, its assignee counts. It takes columns and not a row, because
-- the rows of a trigger by statement have no type.
CREATE OR REPLACE FUNCTION task_day_parts(project uuid, status text, created_at timestamptz, updated_at timestamptz,
  deleted_at timestamptz, completed_at timestamptz, completed_by_type text, assignee_type text)
RETURNS TABLE (project_id uuid, day date, scope integer, people integer, agents integer) LANGUAGE sql STABLE AS $$
  SELECT $1, ($3 AT TIME ZONE 'UTC')::date, 1, 0, 0 WHERE $5 IS NULL AND $2 <> 'cancelled'
  UNION ALL SELECT $1, (coalesce($6, $4) AT TIME ZONE 'UTC')::date, 0,
      (coalesce($7, $8, 'user') <> 'agent')::int, (coalesce($7, $8, 'user') = 'agent')::int
    WHERE $5 IS NULL AND $2 = 'done'
$$;

CREATE OR REPLACE FUNCTION task_days_wrong()
RETURNS TABLE (project_id uuid, day date, scope bigint, people bigint, agents bigint) LANGUAGE sql STABLE AS $$
  SELECT b.project_id, b.day, sum(b.scope)::bigint, sum(b.people)::bigint, sum(b.agents)::bigint FROM (
    SELECT p.* FROM tasks t CROSS JOIN LATERAL task_day_parts(t.project_id, t.status, t.created_at, t.updated_at,
      t.deleted_at, t.completed_at, t.completed_by_type, t.assignee_type) p
    UNION ALL SELECT d.project_id, d.day, -d.scope, -d.people, -d.agents FROM task_days d) b
  GROUP BY 1, 2 HAVING sum(b.scope) <> 0 OR sum(b.people) <> 0 OR sum(b.agents) <> 0
$$;

-- Adds or subtracts all tasks of a statement at once: their numbers by status, their numbers by day, and whether their
-- parents still have open parts. Many tasks get one row for each sum; a single one, which is the usual case, gets its
-- rows without the cost of grouping.
CREATE OR REPLACE FUNCTION tasks_summed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END; t record; added record; last bigint; parents uuid[];
BEGIN
  SELECT c.project_id, c.status, c.created_at, c.updated_at, c.deleted_at, c.completed_at, c.completed_by_type,
    c.assignee_type, c.parent_id, (SELECT count(*) FROM (SELECT 1 FROM changed LIMIT 2) m) AS n
    INTO t FROM changed c LIMIT 1;
  IF t.n = 1 THEN
    IF t.deleted_at IS NULL THEN
      INSERT INTO task_counts (project_id, status, n) VALUES (t.project_id, t.status, sign) RETURNING id INTO last;
      IF last % 256 = 0 THEN PERFORM task_counts_fold(t.project_id); END IF;
      FOR added IN INSERT INTO task_days (project_id, day, scope, people, agents)
        SELECT p.project_id, p.day, sign * p.scope, sign * p.people, sign * p.agents
        FROM task_day_parts(t.project_id, t.status, t.created_at, t.updated_at, t.deleted_at, t.completed_at,
          t.completed_by_type, t.assignee_type) p
        RETURNING day, id
      LOOP
        IF added.id % 64 = 0 THEN PERFORM task_days_fold(t.project_id, added.day); END IF;
      END LOOP;
    END IF;
    IF t.parent_id IS NOT NULL THEN PERFORM tasks_recount(ARRAY[t.parent_id]); END IF;
  ELSIF t.n > 1 THEN
    FOR added IN INSERT INTO task_counts (project_id, status, n)
      SELECT c.project_id, c.status, sign * count(*) FROM changed c WHERE c.deleted_at IS NULL GROUP BY 1, 2
      RETURNING project_id, id
    LOOP
      IF added.id % 256 = 0 THEN PERFORM task_counts_fold(added.project_id); END IF;
    END LOOP;
    FOR added IN INSERT INTO task_days (project_id, day, scope, people, agents)
      SELECT p.project_id, p.day, sign * sum(p.scope), sign * sum(p.people), sign * sum(p.agents)
      FROM changed c CROSS JOIN LATERAL task_day_parts(c.project_id, c.status, c.created_at, c.updated_at,
        c.deleted_at, c.completed_at, c.completed_by_type, c.assignee_type) p
      GROUP BY 1, 2 RETURNING project_id, day, id
    LOOP
      IF added.id % 64 = 0 THEN PERFORM task_days_fold(added.project_id, added.day); END IF;
    END LOOP;
    parents := ARRAY(SELECT DISTINCT c.parent_id FROM changed c WHERE c.parent_id IS NOT NULL);
    IF cardinality(parents) > 0 THEN PERFORM tasks_recount(parents); END IF;
  END IF;
  RETURN NULL;
END $$;

-- Updates stay by row: a trigger by statement cannot be limited to columns and keeps both versions of every row, and
-- most updates, such as those of leases, change none of these sums.
CREATE OR REPLACE FUNCTION tasks_days_counted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE added record;
BEGIN
  FOR added IN INSERT INTO task_days (project_id, day, scope, people, agents)
    SELECT p.project_id, p.day, sum(p.scope), sum(p.people), sum(p.agents) FROM (
      SELECT o.project_id, o.day, -o.scope AS scope, -o.people AS people, -o.agents AS agents
        FROM task_day_parts(OLD.project_id, OLD.status, OLD.created_at, OLD.updated_at, OLD.deleted_at,
          OLD.completed_at, OLD.completed_by_type, OLD.assignee_type) o
      UNION ALL SELECT n.* FROM task_day_parts(NEW.project_id, NEW.status, NEW.created_at, NEW.updated_at,
        NEW.deleted_at, NEW.completed_at, NEW.completed_by_type, NEW.assignee_type) n) p
    GROUP BY 1, 2 HAVING sum(p.scope) <> 0 OR sum(p.people) <> 0 OR sum(p.agents) <> 0
    RETURNING project_id, day, id
  LOOP
    IF added.id % 64 = 0 THEN PERFORM task_days_fold(added.project_id, added.day); END IF;
  END LOOP;
  RETURN NULL;
END $$;

-- Now only for updates.
CREATE OR REPLACE FUNCTION tasks_of_changed_task() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE near uuid[] := ARRAY(SELECT task_id FROM task_dependencies WHERE blocked_by_id = NEW.id AND kind = 'blocks'
  UNION SELECT blocked_by_id FROM task_dependencies WHERE task_id = NEW.id AND kind = 'blocks');
BEGIN
  IF cardinality(near) > 0 AND OLD.organization_id <> NEW.organization_id THEN near := near || NEW.id; END IF;
  near := array_remove(near || OLD.parent_id || NEW.parent_id, NULL);
  IF cardinality(near) > 0 THEN PERFORM tasks_recount(near); END IF;
  RETURN NULL;
END $$;

DROP TRIGGER tasks_count_added ON tasks;
DROP TRIGGER tasks_count_removed ON tasks;
DROP TRIGGER tasks_days_added ON tasks;
DROP TRIGGER tasks_days_removed ON tasks;
DROP TRIGGER tasks_added ON tasks;
DROP TRIGGER tasks_removed ON tasks;
DROP FUNCTION task_day_parts(tasks);
CREATE TRIGGER tasks_inserted AFTER INSERT ON tasks REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION tasks_summed();
CREATE TRIGGER tasks_deleted AFTER DELETE ON tasks REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION tasks_summed();
