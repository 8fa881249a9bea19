CREATE TABLE "skill_calls" (
	"skill_id" uuid PRIMARY KEY NOT NULL,
	"calls" integer NOT NULL
);

ALTER TABLE "skill_calls" ADD CONSTRAINT "skill_calls_skill_id_skills_id_fk" FOREIGN KEY ("skill_id") REFERENCES "public"."skills"("id") ON DELETE cascade ON UPDATE no action;
