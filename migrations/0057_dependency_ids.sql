ALTER TABLE "task_dependencies" ADD COLUMN "id" uuid DEFAULT gen_random_uuid() NOT NULL;
CREATE UNIQUE INDEX "task_dependencies_id" ON "task_dependencies" USING btree ("id");
