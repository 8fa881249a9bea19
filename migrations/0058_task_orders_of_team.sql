CREATE INDEX "tasks_team_priority" ON "tasks" USING btree ("organization_id",(case "priority" when 'critical' then 3 when 'high' then 2 when 'medium' then 1 else 0 end),"id") WHERE "tasks"."deleted_at" is null;
CREATE INDEX "tasks_team_due" ON "tasks" USING btree ("organization_id",coalesce("due_at", 'infinity'::timestamptz),"id") WHERE "tasks"."deleted_at" is null;
