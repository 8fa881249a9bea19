CREATE TABLE "task_days" (
	"project_id" uuid NOT NULL,
	"day" date NOT NULL,
	"id" bigserial NOT NULL,
	"scope" integer NOT NULL,
	"people" integer NOT NULL,
	"agents" integer NOT NULL,
	CONSTRAINT "task_days_project_id_day_id_pk" PRIMARY KEY("project_id","day","id")
);

ALTER TABLE "tasks" ADD COLUMN "completed_by_type" text;


-- What a task adds to the days of its project: to the scope of the day it was created, and to what was done on the day
-- it was completed. Where nobody stored who completed it, its assignee counts.
CREATE OR REPLACE FUNCTION task_day_parts(t tasks)
RETURNS TABLE (project_id uuid, day date, scope integer, people integer, agents integer) LANGUAGE sql STABLE AS $$
  SELECT t.project_id, (t.created_at AT TIME ZONE 'UTC')::date, 1, 0, 0
    WHERE t.deleted_at IS NULL AND t.status <> 'cancelled'
  UNION ALL SELECT t.project_id, (coalesce(t.completed_at, t.updated_at) AT TIME ZONE 'UTC')::date, 0,
      (NOT is_agent)::int, is_agent::int
    FROM (SELECT coalesce(t.completed_by_type, t.assignee_type, 'user') = 'agent' AS is_agent) by
    WHERE t.deleted_at IS NULL AND t.status = 'done'
$$;

-- By how much the sums differ from the tasks as they are.
CREATE OR REPLACE FUNCTION task_days_wrong()
RETURNS TABLE (project_id uuid, day date, scope bigint, people bigint, agents bigint) LANGUAGE sql STABLE AS $$
  SELECT b.project_id, b.day, sum(b.scope)::bigint, sum(b.people)::bigint, sum(b.agents)::bigint FROM (
    SELECT p.* FROM tasks t CROSS JOIN LATERAL task_day_parts(t) p
    UNION ALL SELECT d.project_id, d.day, -d.scope, -d.people, -d.agents FROM task_days d) b
  GROUP BY 1, 2 HAVING sum(b.scope) <> 0 OR sum(b.people) <> 0 OR sum(b.agents) <> 0
$$;

-- Corrects the sums, and returns how many were wrong. Tasks wait meanwhile: if two did this at the same time, both would
-- add the same corrections.
CREATE OR REPLACE FUNCTION task_days_mend() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE wrong integer;
BEGIN
  LOCK TABLE task_days IN SHARE ROW EXCLUSIVE MODE;
  INSERT INTO task_days (project_id, day, scope, people, agents) SELECT * FROM task_days_wrong();
  GET DIAGNOSTICS wrong = ROW_COUNT;
  RETURN wrong;
END $$;

-- Replaces the rows of a day by their sum, at most 2,000 of them, and once in a transaction, as task_counts_fold does.
CREATE OR REPLACE FUNCTION task_days_fold(project uuid, date date) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
  IF current_setting('tutti.days_folded', true) = pg_current_xact_id()::text THEN RETURN; END IF;
  PERFORM set_config('tutti.days_folded', pg_current_xact_id()::text, true);
  WITH old AS MATERIALIZED (
    SELECT d.id FROM task_days d WHERE d.project_id = project AND d.day = date LIMIT 2000 FOR UPDATE SKIP LOCKED),
  gone AS (
    DELETE FROM task_days d USING old WHERE d.project_id = project AND d.day = date AND d.id = old.id
    RETURNING d.scope, d.people, d.agents)
  INSERT INTO task_days (project_id, day, scope, people, agents)
    SELECT project, date, sum(scope), sum(people), sum(agents) FROM gone
    HAVING sum(scope) <> 0 OR sum(people) <> 0 OR sum(agents) <> 0;
END $$;

CREATE OR REPLACE FUNCTION tasks_days_counted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE part record; last bigint;
BEGIN
  FOR part IN SELECT p.project_id, p.day, sum(p.scope) AS scope, sum(p.people) AS people, sum(p.agents) AS agents FROM (
      SELECT o.project_id, o.day, -o.scope AS scope, -o.people AS people, -o.agents AS agents
        FROM task_day_parts(OLD) o WHERE TG_OP <> 'INSERT'
      UNION ALL SELECT * FROM task_day_parts(NEW) WHERE TG_OP <> 'DELETE') p
    GROUP BY 1, 2 HAVING sum(p.scope) <> 0 OR sum(p.people) <> 0 OR sum(p.agents) <> 0
  LOOP
    INSERT INTO task_days (project_id, day, scope, people, agents)
      VALUES (part.project_id, part.day, part.scope, part.people, part.agents) RETURNING id INTO last;
    IF last % 64 = 0 THEN PERFORM task_days_fold(part.project_id, part.day); END IF;
  END LOOP;
  RETURN NULL;
END $$;

CREATE TRIGGER tasks_days_added AFTER INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION tasks_days_counted();
CREATE TRIGGER tasks_days_removed AFTER DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION tasks_days_counted();
CREATE TRIGGER tasks_days_changed
  AFTER UPDATE OF status, deleted_at, project_id, created_at, completed_at, completed_by_type, assignee_type ON tasks
  FOR EACH ROW WHEN ((old.status <> new.status AND (old.status IN ('done', 'cancelled') OR new.status IN ('done', 'cancelled')))
    OR (old.deleted_at IS NULL) <> (new.deleted_at IS NULL) OR old.project_id <> new.project_id
    OR old.created_at <> new.created_at OR (new.status = 'done'
      AND (old.completed_at, old.completed_by_type, old.assignee_type)
        IS DISTINCT FROM (new.completed_at, new.completed_by_type, new.assignee_type)))
  EXECUTE FUNCTION tasks_days_counted();

-- After the triggers, which lock the table: an older instance may be writing.
SELECT task_days_mend();
